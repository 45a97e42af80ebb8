import { describe, expect, it } from 'vitest'
import { contrast } from './contrast.ts'
import { dark, light, type Palette, type Tone, toneOf } from './tokens.ts'

const SURFACES = ['surface', 'surfaceRaised', 'surfaceSunken', 'surfacePressed', 'surfaceHovered'] as const
const INKS = ['text', 'textMuted', 'accent', 'good', 'warn', 'bad', 'paused'] as const
const TONES: readonly Tone[] = ['neutral', 'accent', 'good', 'warn', 'bad', 'paused']

describe.each<[string, Palette]>([
  ['light', light],
  ['dark', dark],
])('%s', (_, palette) => {
  it.each(SURFACES)('all text can be read on %s: 4.5', (surface) => {
    const faint = INKS.filter((ink) => contrast(palette[ink], palette[surface]) < 4.5)
    expect(faint).toEqual([])
  })

  it.each(SURFACES)('big numbers stand out on %s: 7', (surface) => {
    expect(contrast(palette.text, palette[surface])).toBeGreaterThanOrEqual(7)
  })

  it.each(TONES)('%s can be read on its own wash', (tone) => {
    const { ink, wash } = toneOf(palette, tone)
    expect(contrast(ink, wash)).toBeGreaterThanOrEqual(4.5)
    expect(contrast(palette.text, wash)).toBeGreaterThanOrEqual(7)
  })

  it('labels can be read on filled buttons', () => {
    expect(contrast(palette.onAccent, palette.accent)).toBeGreaterThanOrEqual(4.5)
    expect(contrast(palette.onBad, palette.bad)).toBeGreaterThanOrEqual(4.5)
  })

  it('what is selected differs from what is under the pointer, and both from the page', () => {
    const { surface, surfaceRaised, surfaceHovered, surfacePressed } = palette
    for (const other of [surface, surfaceRaised, surfaceHovered])
      expect(contrast(surfacePressed, other)).toBeGreaterThanOrEqual(1.08)
    expect(contrast(surfaceHovered, surface)).toBeGreaterThanOrEqual(1.05)
  })

  it('the chosen segment is lighter than its track, and its text can be read', () => {
    const light = (colour: string) => contrast(colour, '#000000')
    expect(light(palette.surfaceChosen)).toBeGreaterThan(light(palette.surfaceSunken))
    expect(contrast(palette.text, palette.surfaceChosen)).toBeGreaterThanOrEqual(7)
  })

  it('edges of controls can be seen: 3', () => {
    for (const surface of SURFACES.slice(0, 3))
      expect(contrast(palette.lineStrong, palette[surface])).toBeGreaterThanOrEqual(3)
  })
})
