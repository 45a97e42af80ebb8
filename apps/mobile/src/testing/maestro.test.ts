import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

const HOME = join(import.meta.dirname, '../..')
const FLOWS = join(HOME, 'e2e/maestro')

const sources = globSync('src/**/*.{ts,tsx}', { cwd: HOME, exclude: ['**/*.test.*', 'src/testing/**'] })
  .map((file) => readFileSync(join(HOME, file), 'utf8'))
  .join('\n')
  // Without comments: they are no labels of the app.
  .replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')

/** Commands that name a label of the app. */
const NAMING = /^- (?:tapOn|longPressOn|assertVisible): "(.*)"$/
const OTHERS =
  /^(#.*|appId: dev\.oncue\.app|name: .*|---|- (launchApp|inputText|hideKeyboard|runFlow)\b.*| {4}clear\w+: true)$/

describe.each(globSync('*.yaml', { cwd: FLOWS }).sort())('%s, checked without a device', (name) => {
  const lines = readFileSync(join(FLOWS, name), 'utf8').trimEnd().split('\n')

  it('uses only known commands', () => {
    expect(lines.filter((line) => !NAMING.test(line) && !OTHERS.test(line))).toEqual([])
  })

  it('names labels that the app contains', () => {
    const labels = lines.flatMap((line) => NAMING.exec(line)?.[1] ?? [])
    expect(labels.length).toBeGreaterThan(0)
    expect(labels.filter((label) => !label.split('|').every(isSaid))).toEqual([])
  })
})

/** A fixed label appears in quotes or between tags; for one with placeholders, every part appears. */
function isSaid(label: string): boolean {
  const parts = label.split(/\.\*|\$\{\w+\}/)
  if (parts.length === 1) return new RegExp(`(['">]|^\\s*)${label}(['"<]|$)`, 'm').test(sources)
  return parts.every((part) => sources.includes(part.trim()))
}
