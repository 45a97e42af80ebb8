/** Numbers of a series. Null: unknown at that moment. */
export type Values = readonly (number | null)[]

export interface Scale {
  readonly max: number
  readonly x: (index: number) => number
  readonly y: (value: number) => number
  readonly bottom: number
}

export interface Box {
  readonly width: number
  readonly height: number
  /** Kept free at all sides, so that strokes are not cut. */
  readonly inset?: number
  /** Always within the chart. */
  readonly threshold?: number
}

/** From edge to edge, and from zero, always: a line that starts elsewhere misleads. */
export function scaleOf(series: readonly Values[], { width, height, inset = 0, threshold = 0 }: Box): Scale {
  const known = series.flatMap((values) => values.filter((value) => value !== null))
  const max = niceMax(Math.max(threshold * 1.1, ...known, 0))
  const count = Math.max(...series.map(({ length }) => length), 1)
  const bottom = height - inset
  return {
    max,
    bottom,
    x: (index) => (count === 1 ? width / 2 : (index / (count - 1)) * width),
    y: (value) => bottom - (value / max) * (height - 2 * inset),
  }
}

/** For an axis: each value has a band of its own, and stands in the middle of it. */
export function bandsOf(count: number, max: number, { width, height, inset = 0 }: Box): Bands {
  const band = width / Math.max(1, count)
  const bottom = height - inset
  return {
    max,
    bottom,
    band,
    x: (index) => (index + 0.5) * band,
    y: (value) => bottom - (value / max) * (height - 2 * inset),
  }
}

export interface Bands extends Scale {
  readonly band: number
}

const BAR = 0.72

/** A bar for each value, on top of those of the series before it. */
export function barsOf(values: Values, below: readonly Values[], { x, y, band }: Bands): string {
  const half = Math.max(1, band * BAR) / 2
  return values
    .map((value, index) => {
      if (!value) return ''
      const foot = below.reduce((sum, each) => sum + (each[index] ?? 0), 0)
      const [left, right] = [round(x(index) - half), round(x(index) + half)]
      return `M${left} ${round(y(foot))}V${round(y(foot + value))}H${right}V${round(y(foot))}Z`
    })
    .join('')
}

/** The next of 1, 2, 5, 10, 20, 50 …: what an axis can be divided into. */
export function niceMax(value: number): number {
  if (value <= 0) return 1
  const power = 10 ** Math.floor(Math.log10(value))
  const step = [1, 2, 5, 10].find((each) => each * power >= value) ?? 10
  return step * power
}

/** Interrupted where values are unknown. A single value becomes a dot, thanks to round caps. */
export function lineOf(values: Values, { x, y }: Scale): string {
  let isDrawing = false
  return values
    .map((value, index) => {
      if (value === null) {
        isDrawing = false
        return ''
      }
      const isAlone = !isDrawing && (values[index + 1] ?? null) === null
      const move = isDrawing ? 'L' : 'M'
      isDrawing = true
      return `${move}${round(x(index))} ${round(y(value))}${isAlone ? 'h0' : ''}`
    })
    .join('')
}

export function areaOf(values: Values, scale: Scale): string {
  return runsOf(values)
    .map((run) => {
      const points = run
        .map(({ index, value }) => `L${round(scale.x(index))} ${round(scale.y(value))}`)
        .join('')
      const first = round(scale.x(run[0]?.index ?? 0))
      const last = round(scale.x(run.at(-1)?.index ?? 0))
      return `M${first} ${scale.bottom}${points}L${last} ${scale.bottom}Z`
    })
    .join('')
}

function runsOf(values: Values): { index: number; value: number }[][] {
  const runs: { index: number; value: number }[][] = []
  values.forEach((value, index) => {
    if (value === null) return
    const isNew = index === 0 || values[index - 1] === null
    if (isNew) runs.push([])
    runs.at(-1)?.push({ index, value })
  })
  return runs
}

const round = (value: number) => Math.round(value * 100) / 100
