import { MAIN, MORE, OTHERS } from '../../components/shell/destinations.ts'
import type { IconName } from '../../components/ui/icon.tsx'

/** Something that the palette can do. */
export interface Command {
  readonly id: string
  readonly label: string
  readonly icon: IconName
  /** What it is about, in a word or two: a kind, a key. */
  readonly detail: string
  /** Shown before anything is typed. */
  readonly isUsual?: boolean
  /** It asks for more: the palette stays open. */
  readonly staysOpen?: boolean
  readonly run: () => void
}

/** The letter after `g` that leads to a page. */
export const PAGE_KEYS: Readonly<Record<string, string>> = {
  '/': 'n',
  '/failures': 'f',
  '/jobs': 'j',
  '/queues': 'q',
  '/alerts': 'a',
  '/questions': 'u',
  '/workers': 'w',
  '/topics': 't',
  '/schedules': 's',
  '/bulk-operations': 'b',
  '/activity': 'y',
  '/database': 'd',
  '/settings': ',',
}

/** Everything that a letter leads to. */
export const PAGES = [...MAIN, ...MORE, { ...OTHERS, label: 'Settings', icon: 'settings' } as const]

/** Keys by what they are for, for the sheet that lists them. */
export const KEYS: readonly {
  readonly title: string
  readonly keys: readonly (readonly [string, string])[]
}[] = [
  {
    title: 'Everywhere',
    keys: [
      ['⌘K or Ctrl K', 'Search or jump'],
      ['?', 'This list'],
      ...PAGES.flatMap(({ href, label }) => {
        const key = PAGE_KEYS[href]
        return key === undefined ? [] : [[`g ${key}`, label] as const]
      }),
    ],
  },
  {
    title: 'Lists',
    keys: [
      ['j, k', 'Next, previous'],
      ['o or Enter', 'Open'],
      ['x', 'Select'],
      ['r', 'Retry'],
      ['p', 'Preview a job of the table'],
      ['/', 'Search jobs'],
      ['Esc', 'Close, or stop selecting'],
    ],
  },
]

/** More is not read, but typed further. */
const MOST = 12

/** Those that have every word of the text, those that begin with it first. */
export function findCommands(commands: readonly Command[], text: string): readonly Command[] {
  const typed = text.trim().toLowerCase()
  if (typed === '') return commands.filter(({ isUsual }) => isUsual)
  const words = typed.split(/\s+/)
  const begins = ({ label }: Command) => label.toLowerCase().startsWith(typed)
  const found = commands.filter(({ label, detail }) => {
    const said = `${label} ${detail}`.toLowerCase()
    return words.every((word) => said.includes(word))
  })
  return [...found.filter(begins), ...found.filter((command) => !begins(command))].slice(0, MOST)
}
