/** Charts as SVG text, with their own background: readable on light and on dark pages. */
export interface Plot {
  readonly title: string
  readonly x: Axis
  readonly y: Pick<Axis, 'isLog'>
  /** How many charts stand side by side. */
  readonly columns: number
  readonly charts: readonly Chart[]
  readonly legend: readonly { readonly tone: Tone; readonly text: string }[]
}

interface Axis {
  readonly label: string
  readonly isLog: boolean
}

/** All charts of a plot have the same x axis; each has its own y axis. */
export interface Chart {
  readonly title: string
  readonly series: readonly Series[]
}

interface Series {
  readonly name: string
  readonly tone: Tone
  readonly points: readonly Point[]
}

export type Point = readonly [x: number, y: number]

/** Quiet lines are thin and grey, and drawn below the others. */
export type Tone = 'first' | 'second' | 'quiet'

const CHART = { width: 260, height: 180, left: 52, right: 12, top: 30, bottom: 34 }
const INNER = {
  width: CHART.width - CHART.left - CHART.right,
  height: CHART.height - CHART.top - CHART.bottom,
}
const HEAD = 58
const MARGIN = 12
/** Lines with more points than this have no dots. */
const DOTS = 12

const STYLE = `
text { font: 11px system-ui, sans-serif; fill: #57606a }
.title { font-size: 15px; font-weight: 600 } .name { font-weight: 600 } .title, .name { fill: #1f2328 }
.page { fill: #ffffff } .grid { stroke: #d0d7de; stroke-width: 1 }
path { fill: none; stroke-width: 2; stroke-linejoin: round } path.quiet { stroke-width: 1 }
path.first { stroke: #0969da } path.second { stroke: #bc4c00 } path.quiet { stroke: #8c959f }
circle.first { fill: #0969da } circle.second { fill: #bc4c00 } circle.quiet { fill: #8c959f }
@media (prefers-color-scheme: dark) {
  text { fill: #9198a1 } .title, .name { fill: #f0f6fc }
  .page { fill: #0d1117 } .grid { stroke: #30363d }
  path.first { stroke: #58a6ff } path.second { stroke: #f0883e } path.quiet { stroke: #6e7681 }
  circle.first { fill: #58a6ff } circle.second { fill: #f0883e } circle.quiet { fill: #6e7681 }
}`

export function toSvg(plot: Plot): string {
  const { title, columns, charts, legend } = plot
  const width = 2 * MARGIN + Math.min(columns, charts.length) * CHART.width
  const height = HEAD + Math.ceil(charts.length / columns) * CHART.height + MARGIN
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escaped(title)}">`,
    `<style>${STYLE}\n</style>`,
    `<rect class="page" width="${width}" height="${height}"/>`,
    `<text class="title" x="${MARGIN}" y="26">${escaped(title)}</text>`,
    ...legendParts(legend),
    ...charts.flatMap((chart, i) => [
      `<g transform="translate(${MARGIN + (i % columns) * CHART.width} ${HEAD + Math.floor(i / columns) * CHART.height})">`,
      ...chartParts(plot, chart),
      '</g>',
    ]),
    '</svg>',
  ]
  return `${parts.join('\n')}\n`
}

function legendParts(legend: Plot['legend']): string[] {
  let x = MARGIN
  return legend.flatMap(({ tone, text }) => {
    const start = x
    // About the width of the text: it is not measured.
    x += 44 + 6 * text.length
    return [
      `<path class="${tone}" d="M${start} 43H${start + 20}"/>`,
      `<text x="${start + 26}" y="47">${escaped(text)}</text>`,
    ]
  })
}

function chartParts({ x, y, charts }: Plot, { title, series }: Chart): string[] {
  const all = charts.flatMap((chart) => chart.series.flatMap(({ points }) => points))
  const across = scaleOf(
    all.map(([at]) => at),
    x.isLog,
  )
  const own = series.flatMap(({ points }) => points.map(([, value]) => value))
  const up = scaleOf(y.isLog ? own : [0, ...own], y.isLog)
  const px = (value: number) => round(CHART.left + across.share(value) * INNER.width)
  const py = (value: number) => round(CHART.top + (1 - up.share(value)) * INNER.height)
  const bottom = CHART.top + INNER.height
  return [
    `<text class="name" x="${CHART.left}" y="18">${escaped(title)}</text>`,
    ...up.ticks.flatMap((tick) => [
      `<line class="grid" x1="${CHART.left}" x2="${CHART.left + INNER.width}" y1="${py(tick)}" y2="${py(tick)}"/>`,
      `<text x="${CHART.left - 6}" y="${py(tick) + 4}" text-anchor="end">${short(tick)}</text>`,
    ]),
    ...across.ticks.map(
      (tick) =>
        `<text x="${px(tick)}" y="${bottom + 14}" text-anchor="middle">${x.isLog ? power(tick) : short(tick)}</text>`,
    ),
    `<text x="${CHART.left + INNER.width / 2}" y="${bottom + 28}" text-anchor="middle">${escaped(x.label)}</text>`,
    ...[...series].sort(quietFirst).flatMap(({ name, tone, points }) => {
      const drawn = points.filter((point) => isDrawn(point, x.isLog, y.isLog))
      const line = drawn.map(([at, value]) => `${px(at)} ${py(value)}`).join('L')
      const dots = drawn.length <= DOTS ? drawn : []
      return [
        ...(line ? [`<path class="${tone}" d="M${line}"><title>${escaped(name)}</title></path>`] : []),
        ...dots.map(
          ([at, value]) =>
            `<circle class="${tone}" cx="${px(at)}" cy="${py(value)}" r="${tone === 'quiet' ? 1.5 : 2.5}"/>`,
        ),
      ]
    }),
  ]
}

interface Scale {
  readonly ticks: readonly number[]
  /** Where a value lies: 0 at the lower end, 1 at the upper. */
  share(value: number): number
}

/** From tick to tick, so that no value lies outside. */
export function scaleOf(values: readonly number[], isLog: boolean): Scale {
  const usable = values.filter((value) => Number.isFinite(value) && (!isLog || value > 0))
  const [low, high] = usable.length ? [Math.min(...usable), Math.max(...usable)] : [1, 1]
  return isLog ? logScale(low, high) : linearScale(low, high)
}

function logScale(low: number, high: number): Scale {
  const first = Math.floor(Math.log10(low))
  const last = Math.max(first + 1, Math.ceil(Math.log10(high)))
  return {
    ticks: Array.from({ length: last - first + 1 }, (_, i) => 10 ** (first + i)),
    share: (value) => (Math.log10(value) - first) / (last - first),
  }
}

function linearScale(low: number, high: number): Scale {
  const rough = (high - low || 1) / 4
  const unit = 10 ** Math.floor(Math.log10(rough))
  const step = ([1, 2, 5].find((factor) => factor * unit >= rough) ?? 10) * unit
  const first = Math.floor(low / step)
  const last = Math.max(first + 1, Math.ceil(high / step))
  return {
    ticks: Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12))),
    share: (value) => (value / step - first) / (last - first),
  }
}

function isDrawn([x, y]: Point, xIsLog: boolean, yIsLog: boolean): boolean {
  return Number.isFinite(x) && Number.isFinite(y) && (!xIsLog || x > 0) && (!yIsLog || y > 0)
}

const quietFirst = (a: Series, b: Series) => Number(b.tone === 'quiet') - Number(a.tone === 'quiet')

const round = (value: number) => Number(value.toFixed(1))

/** 1,500 as 1.5k: the space beside an axis is narrow. */
function short(value: number): string {
  const [divisor, unit] = value >= 1e6 ? [1e6, 'M'] : value >= 1e3 ? [1e3, 'k'] : [1, '']
  return `${Number((value / divisor).toPrecision(6))}${unit}`
}

/** 1,000 as 10³. */
export function power(value: number): string {
  return `10${[...String(Math.round(Math.log10(value)))].map((digit) => '⁰¹²³⁴⁵⁶⁷⁸⁹'[Number(digit)]).join('')}`
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`)
}
