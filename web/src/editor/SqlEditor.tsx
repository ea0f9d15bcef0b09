import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics, type Diagnostic } from "@codemirror/lint";
import { EditorState, Prec, type Text } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, keymap, lineNumbers } from "@codemirror/view";
import { useEffect, useRef } from "react";
import { completionOf, type CatalogNames } from "./completing";
import { colours } from "./dialect";
import { languageOf, type TextKind } from "./language";
import type { Fault } from "./place";

interface Props {
  label: string;
  /** The text that it begins with; another one in its place has another key. */
  text: string;
  change: (text: string) => void;
  faults: readonly Fault[];
  catalog: CatalogNames;
  kind?: TextKind;
  /** What Ctrl-Enter does. */
  submit: () => void;
}

/** SQL, or Python, to write.  Of its own file, with CodeMirror; Tab leaves it, as any field. */
export default function SqlEditor({ label, text, change, faults, catalog, kind = "sql", submit }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const calls = useRef({ change, submit, catalog });
  calls.current = { change, submit, catalog };
  const first = useRef(text);
  useEffect(() => {
    if (box.current === null) return undefined;
    const made = new EditorView({
      parent: box.current,
      state: EditorState.create({
        doc: first.current,
        extensions: [
          lineNumbers(),
          lintGutter(),
          history(),
          drawSelection(),
          indentOnInput(),
          bracketMatching(),
          closeBrackets(),
          highlightActiveLine(),
          highlightActiveLineGutter(),
          languageOf(kind).extension,
          ...(kind === "pyspark" ? [indentUnit.of("    ")] : []),
          syntaxHighlighting(colours),
          ...(kind === "pyspark"
            ? []
            : [
                autocompletion({
                  override: [
                    completionOf({
                      entries: () => calls.current.catalog.entries(),
                      columns: (name) => calls.current.catalog.columns(name),
                    }),
                  ],
                }),
              ]),
          Prec.highest(
            keymap.of([
              {
                key: "Mod-Enter",
                run: () => {
                  calls.current.submit();
                  return true;
                },
              },
            ]),
          ),
          keymap.of([...closeBracketsKeymap, ...completionKeymap, ...lintKeymap, ...historyKeymap, ...defaultKeymap]),
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0", spellcheck: "false", autocorrect: "off", autocapitalize: "off" }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) calls.current.change(update.state.doc.toString());
          }),
          look,
        ],
      }),
    });
    view.current = made;
    return () => {
      made.destroy();
      view.current = null;
    };
  }, [label, kind]);
  useEffect(() => {
    const found = view.current;
    if (found === null) return;
    const diagnostics = faults.map((fault) => diagnosticOf(fault, found.state.doc));
    found.dispatch(setDiagnostics(found.state, diagnostics));
    const [worst] = diagnostics;
    if (worst) {
      found.dispatch({ selection: { anchor: worst.from }, effects: EditorView.scrollIntoView(worst.from, { y: "center" }) });
      found.focus();
    }
  }, [faults]);
  return <div className="sql-editor" ref={box} />;
}

/** From the place on, the word that is there; the whole line where the column is not known. */
function diagnosticOf({ line, column, message }: Fault, doc: Text): Diagnostic {
  const { from, to, text } = doc.line(Math.min(Math.max(1, line), doc.lines));
  const begin = column > 0 ? Math.min(from + column - 1, to) : from;
  const word = text.slice(begin - from).match(/^(?:`[^`]*`|[\w.]+|\S)/)?.[0].length ?? 0;
  return { from: begin, to: column > 0 ? begin + word : to, severity: "error", message };
}

const look = EditorView.theme({
  "&": { fontSize: "13px", backgroundColor: "var(--surface)", color: "var(--text)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5", maxHeight: "64vh" },
  ".cm-content, .cm-gutter": { minHeight: "320px" },
  ".cm-content": { caretColor: "var(--text)", padding: "8px 0" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--sunken)", color: "var(--dim)", borderRight: "1px solid var(--line)" },
  ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--accent-ground) 55%, transparent)" },
  ".cm-activeLineGutter": { backgroundColor: "var(--accent-ground)", color: "var(--text)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "color-mix(in srgb, var(--accent) 28%, transparent)",
  },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--accent-ground)", outline: "1px solid var(--accent)" },
  ".cm-tooltip": {
    backgroundColor: "var(--raised)",
    color: "var(--text)",
    border: "1px solid var(--line-strong)",
    borderRadius: "var(--round)",
    maxWidth: "min(520px, 90vw)",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", fontSize: "13px", maxHeight: "16em" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
  ".cm-completionDetail": { fontStyle: "normal", opacity: "0.85", marginLeft: "1em" },
  ".cm-completionInfo": { padding: "4px 8px" },
  ".cm-diagnostic": { padding: "6px 10px", fontFamily: "var(--sans)", whiteSpace: "pre-wrap" },
  ".cm-diagnostic-error": { borderLeft: "4px solid var(--bad)" },
  ".cm-panels": { backgroundColor: "var(--sunken)", color: "var(--text)" },
});
