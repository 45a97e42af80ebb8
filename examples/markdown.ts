import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** A fenced block: its info string, its content, and where it begins. */
export interface Block {
  readonly document: string
  /** The number of its first line of code, counted from 1. */
  readonly line: number
  readonly info: string
  readonly code: string
}

/** Every tracked page, by its path from the root of the repository. */
export const DOCUMENTS: readonly string[] = execFileSync('git', ['ls-files', '-z', '*.md'], {
  cwd: ROOT,
  encoding: 'utf8',
})
  .split('\0')
  .filter((path) => path !== '' && existsSync(`${ROOT}${path}`))
  .sort()

export function readDocument(document: string): string {
  return readFileSync(new URL(`../${document}`, import.meta.url), 'utf8').replaceAll('\r\n', '\n')
}

export function blocksOf(document: string): Block[] {
  const text = readDocument(document)
  return [...text.matchAll(/^```(.*)\n([\s\S]*?)^```$/gm)].map(({ 1: info = '', 2: code = '', index }) => ({
    document,
    line: text.slice(0, index).split('\n').length + 1,
    info,
    code,
  }))
}

/** The text without its blocks, so that nothing in them is mistaken for a link or a table. */
export function proseOf(document: string): string {
  return readDocument(document).replaceAll(/^```.*\n[\s\S]*?^```$/gm, '')
}

/** The anchors of a page: its headings, as GitHub names them. */
export function anchorsOf(document: string): Set<string> {
  const anchors = new Set<string>()
  for (const [, heading = ''] of proseOf(document).matchAll(/^#{1,6} +(.+)$/gm)) {
    const text = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase()
    const name = text.replaceAll(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-')
    let anchor = name
    for (let n = 1; anchors.has(anchor); n++) anchor = `${name}-${n}`
    anchors.add(anchor)
  }
  return anchors
}
