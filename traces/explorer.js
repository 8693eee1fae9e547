// Draws the curves of a report with BokehJS: see explorer.py, which says what the JSON holds.
(function () {
  "use strict";
  const section = document.getElementById("explore");
  const own = JSON.parse(document.getElementById("series").textContent);
  const place = section.querySelector(".panels");
  const [input, said] = [section.querySelector("input"), section.querySelector("output")];
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const touch = matchMedia("(pointer: coarse)").matches;
  let others = [];

  function unpacked(text) {
    const octets = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    return new Float32Array(octets.buffer);
  }

  function colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  function dress(plot) {
    const [ink, line] = [colour("--ink"), colour("--line")];
    plot.background_fill_color = plot.border_fill_color = colour("--paper");
    plot.outline_line_color = null;
    plot.title.text_color = ink;
    for (const axis of [...plot.left, ...plot.below]) {
      if (!axis.axis_label_text_color) continue;
      axis.axis_label_text_color = axis.major_label_text_color = ink;
      axis.axis_line_color = axis.major_tick_line_color = axis.minor_tick_line_color = ink;
      axis.axis_label_text_font_style = "normal";
    }
    for (const grid of plot.center) if (grid.grid_line_color) grid.grid_line_color = line;
  }

  // Curves of a panel: those of this run, then those of the others with the same title and unit.
  function curvesOf(panel) {
    const found = panel.curves.map((curve) => ({ ...curve, dash: "solid", of: "" }));
    for (const other of others) {
      for (const same of other.panels.filter((one) => one.title === panel.title)) {
        const scale = same.one / panel.one;
        for (const curve of same.curves) {
          found.push({ ...curve, dash: "dashed", of: ` (${other.run})`, scale });
        }
      }
    }
    return found;
  }

  function draw() {
    const api = Bokeh.Plotting;
    const range = new Bokeh.Range1d({ start: own.from, end: own.to, bounds: null });
    const plots = own.panels.map((panel, index) => {
      const plot = api.figure({
        title: panel.title, frame_height: 170, sizing_mode: "stretch_width", x_range: range,
        tools: [], toolbar_location: "right",
        y_axis_label: panel.unit, x_axis_label: index + 1 === own.panels.length ? "time (s)" : null,
      });
      own.phases.forEach(([name, left, right], at) => {
        plot.add_layout(new Bokeh.BoxAnnotation({
          left, right, fill_color: colour("--shade"), fill_alpha: at % 2 ? 0.3 : 0.55,
          line_color: null, level: "underlay", name: `phase ${name}`,
        }));
        if (index === 0) {
          plot.add_layout(new Bokeh.Label({
            x: (left + right) / 2, y: 3, y_units: "screen", text: name, text_align: "center",
            text_baseline: "bottom", text_font_size: "11px", text_color: colour("--ink"),
          }));
        }
      });
      own.events.forEach(([at]) => plot.add_layout(new Bokeh.Span({
        location: at, dimension: "height", line_color: colour("--faint"), line_dash: "dotted",
      })));
      const lines = curvesOf(panel).map((curve, at) => {
        const y = unpacked(curve.y).map((value) => value * (curve.scale || 1));
        const source = new Bokeh.ColumnDataSource({ data: { t: unpacked(curve.t), y } });
        const line_color = own.colours[at % own.colours.length];
        return plot.line({ field: "t" }, { field: "y" }, {
          source, line_color, line_dash: curve.dash, line_width: 1.2,
          name: curve.name + curve.of,
        });
      });
      const tooltips = [["", "$name"], ["t", "@t{0.000000} s"], ["", `@y{0.[0000]} ${panel.unit}`]];
      plot.add_tools(new Bokeh.HoverTool({ tooltips, renderers: lines, line_policy: "nearest" }));
      if (index === 0 && own.events.length) mark(plot);
      const zoom = new Bokeh.BoxZoomTool({ dimensions: "width" });
      const wheel = new Bokeh.WheelZoomTool({ dimensions: "width", modifiers: { ctrl: true } });
      const pan = new Bokeh.PanTool({ dimensions: "width" });
      plot.add_tools(pan, zoom, wheel, new Bokeh.ResetTool());
      plot.toolbar.active_drag = touch ? null : zoom;
      plot.toolbar.active_scroll = wheel;
      plot.toolbar.logo = null;
      if (lines.length > 1) plot.add_layout(legend(lines), "above");
      dress(plot);
      return plot;
    });
    place.replaceChildren();
    window.explored = { plots, range };
    return api.show(new Bokeh.Column({ children: plots, sizing_mode: "stretch_width" }), place);
  }

  function legend(lines) {
    const items = lines.map((line) => new Bokeh.LegendItem({
      label: { value: line.name }, renderers: [line],
    }));
    return new Bokeh.Legend({
      items, click_policy: "hide", orientation: "horizontal", location: "left", padding: 2,
      spacing: 10, ncols: Math.max(1, Math.floor(place.clientWidth / 130)),
      background_fill_alpha: 0, border_line_color: null, label_text_color: colour("--ink"),
      label_text_font_size: "11px", label_height: 14, glyph_height: 14,
    });
  }

  // Events at the foot of the first panel, each with its text under the pointer.
  function mark(plot) {
    const [t, text] = [0, 1].map((part) => own.events.map((event) => event[part]));
    const source = new Bokeh.ColumnDataSource({ data: { t, y: t.map(() => 0), text } });
    const marks = plot.scatter({ field: "t" }, { field: "y" }, {
      source, marker: "triangle", size: 9, color: colour("--ink"), name: "events",
    });
    const tooltips = [["t", "@t{0.000000} s"], ["", "@text"]];
    plot.add_tools(new Bokeh.HoverTool({ tooltips, renderers: [marks] }));
  }

  function read(text) {
    const page = new DOMParser().parseFromString(text, "text/html");
    const found = page.getElementById("series");
    if (found === null) throw new Error("is not a report with curves");
    return JSON.parse(found.textContent);
  }

  input.addEventListener("change", async () => {
    try {
      others = [];
      for (const file of input.files) others.push(read(await file.text()));
      said.textContent = others.length ? `dashed: ${others.map((one) => one.run).join(", ")}` : "";
      await draw();
    } catch (error) {
      said.textContent = `${input.files[0].name}: ${error.message}`;
    }
  });
  dark.addEventListener("change", draw);
  section.hidden = false;
  draw();
})();
