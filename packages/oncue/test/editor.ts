import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const PACKAGE = fileURLToPath(new URL('..', import.meta.url))
const FILE = fileURLToPath(new URL('written-in-an-editor.ts', import.meta.url))

/** What an editor shows of a module beside this file: TypeScript's language service, over text that is nowhere on disk. */
export class Editor {
  readonly #text: string
  readonly #service: ts.LanguageService

  constructor(text: string) {
    this.#text = text
    const { config } = ts.readConfigFile(`${PACKAGE}tsconfig.json`, ts.sys.readFile)
    const { options } = ts.parseJsonConfigFileContent(config, ts.sys, PACKAGE)
    const read = (name: string) => (name === FILE ? text : ts.sys.readFile(name))
    this.#service = ts.createLanguageService({
      ...ts.sys,
      useCaseSensitiveFileNames: () => ts.sys.useCaseSensitiveFileNames,
      getCompilationSettings: () => ({ ...options, noUnusedLocals: false }),
      getScriptFileNames: () => [FILE],
      getScriptVersion: () => '1',
      getScriptSnapshot: (name) => {
        const found = read(name)
        return found === undefined ? undefined : ts.ScriptSnapshot.fromString(found)
      },
      getDefaultLibFileName: ts.getDefaultLibFilePath,
      getCurrentDirectory: ts.sys.getCurrentDirectory,
      fileExists: (name) => name === FILE || ts.sys.fileExists(name),
      readFile: read,
    })
  }

  /** The bubble over the name that follows these words: its type, and what its comment says. */
  hover(words: string): string {
    const start = this.#text.indexOf(words)
    if (start < 0 || this.#text.includes(words, start + 1)) throw new Error(`not there once: ${words}`)
    const info = this.#service.getQuickInfoAtPosition(FILE, start + words.length)
    const parts = [info?.displayParts, info?.documentation].map(ts.displayPartsToString)
    return parts.filter((part) => part !== '').join('\n— ')
  }

  /** Each line with a mistake, what is underlined in it, and the message. */
  mistakes(): Mistake[] {
    const found = [
      ...this.#service.getSyntacticDiagnostics(FILE),
      ...this.#service.getSemanticDiagnostics(FILE),
    ]
    return found.map(({ start = 0, length = 0, messageText }) => {
      const before = this.#text.lastIndexOf('\n', start - 1) + 1
      return {
        line: this.#text.slice(before, this.#text.indexOf('\n', start)),
        column: start - before,
        underlined: this.#text.slice(start, start + length),
        message: ts.flattenDiagnosticMessageText(messageText, '\n'),
      }
    })
  }
}

export interface Mistake {
  readonly line: string
  readonly column: number
  readonly underlined: string
  readonly message: string
}
