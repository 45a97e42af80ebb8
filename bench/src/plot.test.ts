import { describe, expect, test } from 'vitest'
import { type Plot, power, scaleOf, toSvg } from './plot.ts'

const PLOT: Plot = {
  title: 'Claims & lists',
  x: { label: 'finished jobs', isLog: true },
  y: { isLog: true },
  columns: 2,
  charts: [
    {
      title: 'claim <10>',
      series: [
        {
          name: 'all "together"',
          tone: 'second',
          points: [
            [1_000, 10],
            [1_000_000, 100],
          ],
        },
        {
          name: 'in flight',
          tone: 'quiet',
          points: [
            [1_000, 1],
            [10_000, 0],
            [100_000, Number.NaN],
          ],
        },
      ],
    },
    { title: 'empty', series: [] },
    { title: 'no points', series: [{ name: 'none', tone: 'first', points: [] }] },
  ],
  legend: [{ tone: 'second', text: 'all together' }],
}

describe('a plot', () => {
  const svg = toSvg(PLOT)

  test('puts its charts into rows', () => {
    expect(svg).toContain('viewBox="0 0 544 430"')
    expect([...svg.matchAll(/translate\((\d+ \d+)\)/g)].map(([, at]) => at)).toEqual([
      '12 58',
      '272 58',
      '12 238',
    ])
  })

  test('draws a line from corner to corner where the values span both axes', () => {
    expect(svg).toContain('<path class="second" d="M52 88L248 30">')
  })

  test('draws quiet lines first, and leaves out what a log axis cannot show', () => {
    expect(svg.indexOf('class="quiet" d="M52 146"')).toBeGreaterThan(0)
    expect(svg.indexOf('class="quiet" d="M52 146"')).toBeLessThan(svg.indexOf('class="second" d="M52 88'))
    expect(svg).not.toContain('NaN')
  })

  test('escapes what XML would misread', () => {
    expect(svg).toContain('Claims &#38; lists')
    expect(svg).toContain('claim &#60;10&#62;')
    expect(svg).toContain('all &#34;together&#34;')
  })

  test('has its own background and colours for dark pages', () => {
    expect(svg).toContain('<rect class="page"')
    expect(svg).toContain('@media (prefers-color-scheme: dark)')
  })
})

describe('a scale', () => {
  test('of powers of ten ends at powers of ten', () => {
    const { ticks, share } = scaleOf([0.3, 7, 40], true)
    expect(ticks).toEqual([0.1, 1, 10, 100])
    expect(share(0.1)).toBeCloseTo(0)
    expect(share(100)).toBeCloseTo(1)
  })

  test('with one value still has two ticks', () => {
    expect(scaleOf([1_000], true).ticks).toEqual([1_000, 10_000])
    expect(scaleOf([0, 0], false).ticks.length).toBeGreaterThan(1)
    expect(scaleOf([], true).ticks).toEqual([1, 10])
  })

  test('of even steps has round ticks', () => {
    expect(scaleOf([0, 873], false).ticks).toEqual([0, 500, 1_000])
    expect(scaleOf([0, 0.34], false).ticks).toEqual([0, 0.1, 0.2, 0.3, 0.4])
    expect(scaleOf([0, 10], false).share(5)).toBeCloseTo(0.5)
  })
})

test('a power of ten', () => {
  expect([1_000, 10_000_000, 1e10].map(power)).toEqual(['10³', '10⁷', '10¹⁰'])
})
