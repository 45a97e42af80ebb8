import { textSize } from './text-size.ts'

/** Colours by purpose. Screens use only these names. */
export interface Palette {
  readonly surface: string
  /** Bars, sheets, cards. */
  readonly surfaceRaised: string
  /** Fields, tracks, skeletons. */
  readonly surfaceSunken: string
  /** The chosen part of a track. */
  readonly surfaceChosen: string
  /** Under a pointer. */
  readonly surfaceHovered: string
  /** Under a thumb, and a selected row. */
  readonly surfacePressed: string
  readonly text: string
  readonly textMuted: string
  readonly line: string
  /** Borders of controls: a contrast of 3:1. */
  readonly lineStrong: string
  readonly accent: string
  readonly onAccent: string
  readonly accentSoft: string
  readonly good: string
  readonly goodSoft: string
  readonly warn: string
  readonly warnSoft: string
  readonly bad: string
  readonly onBad: string
  readonly badSoft: string
  readonly paused: string
  readonly pausedSoft: string
  readonly scrim: string
}

export type Tone = 'neutral' | 'accent' | 'good' | 'warn' | 'bad' | 'paused'

/** Paper and ink: warm greys, one violet, and state colours, which always come with a word. */
export const light: Palette = {
  surface: '#faf9f7',
  surfaceRaised: '#ffffff',
  surfaceSunken: '#f1efeb',
  surfaceChosen: '#ffffff',
  surfaceHovered: '#f2f0ec',
  surfacePressed: '#e6e2f8',
  text: '#1a181d',
  textMuted: '#63606a',
  line: '#e6e3de',
  lineStrong: '#8b8791',
  accent: '#4f3fc9',
  onAccent: '#ffffff',
  accentSoft: '#eceafb',
  good: '#1d6b44',
  goodSoft: '#e3f2e9',
  warn: '#8a4b00',
  warnSoft: '#fbeeda',
  bad: '#b3202c',
  onBad: '#ffffff',
  badSoft: '#fbe7e6',
  paused: '#3d5a80',
  pausedSoft: '#e6edf5',
  scrim: 'rgba(20, 17, 26, 0.44)',
}

export const dark: Palette = {
  surface: '#121115',
  surfaceRaised: '#1a191e',
  surfaceSunken: '#232127',
  surfaceChosen: '#38353f',
  surfaceHovered: '#1f1e23',
  surfacePressed: '#2e2946',
  text: '#f3f1f5',
  textMuted: '#a9a5b1',
  line: '#2c2a31',
  lineStrong: '#77727f',
  accent: '#a99dff',
  onAccent: '#151129',
  accentSoft: '#272240',
  good: '#6fd19c',
  goodSoft: '#15291f',
  warn: '#f2b35e',
  warnSoft: '#302312',
  bad: '#ff8f88',
  onBad: '#2b0a0a',
  badSoft: '#361a1b',
  paused: '#9dbbe0',
  pausedSoft: '#1b2633',
  scrim: 'rgba(0, 0, 0, 0.64)',
}

/** A grid of 4. */
export const space = { xs: 4, s: 8, m: 12, l: 16, xl: 24, xxl: 32, xxxl: 48 } as const

export const radius = { s: 6, m: 10, l: 16, full: 999 } as const

/** The smallest size of a touch target. */
export const TARGET = 48

/** From this width on there is room for the rail, and for a list beside its detail. */
export const WIDE = 900

/** From here on there is room for a table of jobs. */
export const DESK = 1024

export const MONO = 'ui-monospace, SFMono-Regular, Menlo, Consolas, monospace'

/** In points, at the usual size of text. */
export const typeScale = {
  hero: { fontSize: 48, lineHeight: 52, fontWeight: '600', letterSpacing: -1.6 },
  display: { fontSize: 30, lineHeight: 36, fontWeight: '600', letterSpacing: -0.7 },
  title: { fontSize: 20, lineHeight: 26, fontWeight: '600', letterSpacing: -0.3 },
  heading: { fontSize: 16, lineHeight: 22, fontWeight: '600', letterSpacing: -0.1 },
  body: { fontSize: 16, lineHeight: 24, fontWeight: '400', letterSpacing: 0 },
  label: { fontSize: 14, lineHeight: 20, fontWeight: '500', letterSpacing: 0 },
  small: { fontSize: 13, lineHeight: 18, fontWeight: '400', letterSpacing: 0 },
  overline: { fontSize: 12, lineHeight: 16, fontWeight: '600', letterSpacing: 0.3 },
  code: { fontSize: 13, lineHeight: 20, fontWeight: '400', letterSpacing: 0 },
} as const

export type TypeName = keyof typeof typeScale

type TypeStyle = Readonly<Record<'fontSize' | 'lineHeight' | 'letterSpacing', number>> & {
  readonly fontWeight: '400' | '500' | '600'
}

/** As styles: all sizes grow with the reader's, so that nothing is cut at 200 %. */
export const type = Object.fromEntries(
  Object.entries(typeScale).map(([name, { fontSize, lineHeight, letterSpacing, fontWeight }]) => [
    name,
    {
      fontSize: textSize(fontSize),
      lineHeight: textSize(lineHeight),
      letterSpacing: textSize(letterSpacing),
      fontWeight,
    },
  ]),
) as Readonly<Record<TypeName, TypeStyle>>

/** The colour of a tone, and the wash behind it. */
export function toneOf(palette: Palette, tone: Tone): { readonly ink: string; readonly wash: string } {
  switch (tone) {
    case 'neutral':
      return { ink: palette.textMuted, wash: palette.surfaceSunken }
    case 'accent':
      return { ink: palette.accent, wash: palette.accentSoft }
    case 'good':
      return { ink: palette.good, wash: palette.goodSoft }
    case 'warn':
      return { ink: palette.warn, wash: palette.warnSoft }
    case 'bad':
      return { ink: palette.bad, wash: palette.badSoft }
    case 'paused':
      return { ink: palette.paused, wash: palette.pausedSoft }
  }
}
