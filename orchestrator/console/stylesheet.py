"""The style sheet of the console."""

CSS = """
Screen { layout: vertical; }
#top { height: 1; background: $panel; color: $text; }
#tabs { height: 1; background: $boost; }
#small { display: none; width: 100%; height: 100%; content-align: center middle; }
.too-small #small { display: block; }
.too-small #top, .too-small #tabs, .too-small #body, .too-small Keys { display: none; }
#body { height: 1fr; }
View { height: 1fr; padding: 0 1; }
.heading { text-style: bold; color: $accent; height: 1; }
.hint { color: $text-muted; width: 100%; height: auto; }
Table { height: 1fr; min-height: 3; }
#hint, #none, #title { height: auto; color: $text-muted; }
#progress { height: auto; margin-bottom: 1; }
#tables { height: 1fr; layout: vertical; }
.wide #tables { layout: horizontal; }
#left, #right { width: 1fr; height: 1fr; }
.wide #left { margin-right: 2; }
#reasons { height: auto; max-height: 5; }
#swept { height: 2; }
#points { height: auto; max-height: 9; }
#drawings { height: 1fr; }
#sides { height: 1fr; }
.side { width: 1fr; height: 1fr; }
.plots { width: 1fr; }
.upper { height: 2fr; }
.lower { height: 1fr; }
Rates .lower { height: 2fr; }
.values { width: 28; padding-left: 1; scrollbar-size-vertical: 1; }
.narrow .values { width: 25; }
.fairness { height: 1; }
.narrow .fairness { height: 2; }
.limiters { height: auto; max-height: 9; min-height: 4; scrollbar-size-vertical: 1; }
.limiters .numbers { height: auto; }
.narrow .limiters { max-height: 5; }
#near { height: 1fr; max-height: 15; border-top: solid $primary; }
Events Table { height: 2fr; }
#log { height: auto; max-height: 2; color: $text-muted; }
#buttons { height: 3; margin-bottom: 1; }
.narrow #buttons { margin-bottom: 0; }
#buttons Button { margin-right: 1; min-width: 10; }
#meaning { height: auto; min-height: 1; max-height: 3; color: $text-muted; }
ModalScreen { align: center middle; }
.dialog {
    width: 76; max-width: 95%; height: auto; max-height: 90%;
    border: thick $accent; background: $surface; padding: 0 1;
}
.dialog.wide { width: 100; height: 90%; }
.dialog OptionList, .dialog SelectionList { height: auto; max-height: 14; }
.dialog VerticalScroll { height: 1fr; }
.answers { height: 3; margin-top: 1; }
.answers Button { margin-right: 2; }
#wrong { height: auto; width: 100%; }
"""
LEAST = (80, 24)
ROOMY, WIDE = 110, 150
