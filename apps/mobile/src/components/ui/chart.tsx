import { useState } from 'react'
import { type LayoutChangeEvent, Platform, StyleSheet, View } from 'react-native'
import Svg, { Circle, Line, Path, Rect } from 'react-native-svg'
import { useFontScale } from '../../lib/font-scale.ts'
import { clock, day, duration, timeOfDay } from '../../lib/format.ts'
import { type Palette, radius, space } from '../../theme/tokens.ts'
import { useTheme } from '../../theme/use-theme.ts'
import { FORMATS, type Tick, timeTicks, type Unit, valueTicks } from './chart-axis.ts'
import { areaOf, type Bands, bandsOf, barsOf, lineOf, type Values } from './chart-geometry.ts'
import { useCrosshair } from './crosshair.tsx'
import { Text } from './text.tsx'

/** Of text at its usual size: the column of the values, the row of the times, and what a tick of each needs. */
const GUTTER = 52
const FOOT = 22
const TICK_HEIGHT = 26
/** For half of the last of the times. */
const END = 10
const TICK_WIDTH = 46

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const RANGE_FROM_MS = 300_000

interface ChartSeries {
  readonly name: string
  readonly values: Values
  readonly color: keyof Palette
  /** Bars are for counts, and stand on one another; lines for all else. */
  readonly kind: 'bar' | 'line'
  /** Distinguishes the line without relying on colour. */
  readonly isDashed?: boolean
}

/** A moment at which something began that may explain what follows. */
export interface ChartMark {
  readonly at: Date
  readonly label: string
}

export interface ChartProps {
  readonly title: string
  readonly unit: Unit
  readonly series: readonly ChartSeries[]
  /** When the step of each value begins. */
  readonly times: readonly Date[]
  readonly stepMs: number
  readonly threshold?: { readonly value: number; readonly label: string } | undefined
  readonly marks?: readonly ChartMark[]
  readonly height?: number
}

/** Values over time with axes, a threshold and marks, and what each moment was under a finger, a pointer or the keys. */
export function Chart(props: ChartProps) {
  const { title, unit, series, times, stepMs, threshold, marks = [], height = 180 } = props
  const { colors } = useTheme()
  const fontScale = useFontScale()
  const [width, setWidth] = useState(0)
  const [isFocused, setFocused] = useState(false)
  const { at, pick, keys, step } = useLook(props)
  const gutter = GUTTER * fontScale
  const plot = {
    width: Math.max(0, width - gutter - END * fontScale),
    height: height - FOOT * fontScale,
    inset: 5,
  }
  const from = times[0] ?? new Date(0)
  const to = new Date((times.at(-1) ?? from).getTime() + stepMs)
  const ticks = valueTicks(highestOf(props), unit, Math.floor(plot.height / (TICK_HEIGHT * fontScale)))
  const bands = bandsOf(times.length, ticks.at(-1)?.value ?? 1, plot)
  const xOf = (ms: number) => ((ms - from.getTime()) / (to.getTime() - from.getTime())) * plot.width
  const shown = marks.filter((mark) => mark.at >= from && mark.at < to)
  // Labels of marks stand at the top, beside their lines: the label of the threshold keeps away from them.
  const isMarkedLeft = shown.some((mark) => xOf(mark.at.getTime()) < plot.width * 0.4)
  const onPoint = (x: number) => pick(Math.floor((x - gutter) / bands.band))

  return (
    <View style={styles.chart}>
      <Legend {...{ title, unit, series, times, at, stepMs, marks: shown }} />
      <View
        role="slider"
        accessible
        tabIndex={0}
        aria-label={describeChart(props, shown)}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, times.length - 1)}
        aria-valuenow={at ?? Math.max(0, times.length - 1)}
        aria-valuetext={describeMoment(props, at, shown)}
        accessibilityActions={ACTIONS}
        onAccessibilityAction={({ nativeEvent }) => step(nativeEvent.actionName === 'increment' ? 1 : -1)}
        {...keys}
        onFocus={(event) => setFocused(isByKey(event))}
        onBlur={() => {
          setFocused(false)
          pick(null)
        }}
        style={[
          { height },
          styles.plot,
          isFocused && Platform.OS === 'web' && { outlineColor: colors.accent, ...FOCUS },
        ]}
        onLayout={({ nativeEvent }: LayoutChangeEvent) => setWidth(nativeEvent.layout.width)}
        onStartShouldSetResponder={() => true}
        onResponderGrant={({ nativeEvent }) => onPoint(nativeEvent.locationX)}
        onResponderMove={({ nativeEvent }) => onPoint(nativeEvent.locationX)}
        onPointerMove={({ nativeEvent }) => onPoint(nativeEvent.offsetX)}
        onPointerLeave={() => pick(null)}
      >
        {width > 0 && (
          <View style={[styles.untouchable, { marginLeft: gutter }]}>
            <Svg width={plot.width} height={plot.height}>
              {at !== null && (
                <Rect
                  x={at * bands.band}
                  y={0}
                  width={bands.band}
                  height={plot.height}
                  fill={colors.surfacePressed}
                />
              )}
              {ticks.map(({ value }) => (
                <Across key={value} y={bands.y(value)} color={value === 0 ? 'lineStrong' : 'line'} />
              ))}
              {series.map((each, index) => (
                <Drawn key={each.name} series={each} below={series.slice(0, index)} bands={bands} />
              ))}
              {threshold && <Across y={bands.y(threshold.value)} color="warn" isDashed />}
              {shown.map((mark) => (
                <Down key={mark.label} x={xOf(mark.at.getTime())} color="paused" isDashed />
              ))}
              {at !== null && <Down x={bands.x(at)} color="textMuted" />}
              {at !== null && <Dots series={series} at={at} bands={bands} />}
            </Svg>
          </View>
        )}
        {width > 0 && (
          <>
            <ValueAxis ticks={ticks} bands={bands} gutter={gutter} />
            <TimeAxis {...{ from, to, xOf, gutter, fontScale }} width={plot.width} top={plot.height} />
            {threshold && (
              <Text
                variant="overline"
                color="warn"
                style={[
                  styles.threshold,
                  {
                    ...(isMarkedLeft ? { right: END * fontScale } : { left: gutter + 2 }),
                    top: labelTop(bands.y(threshold.value), fontScale),
                    backgroundColor: colors.surfaceRaised,
                  },
                ]}
              >
                {threshold.label}
              </Text>
            )}
            {shown.map((mark) => (
              <MarkLabel key={mark.label} mark={mark} x={xOf(mark.at.getTime())} {...{ gutter, width }} />
            ))}
          </>
        )}
      </View>
    </View>
  )
}

/** Above its line, or below it at the top of a chart. */
function labelTop(y: number, fontScale: number): number {
  const height = 18 * fontScale
  return y < height ? y + 2 : y - height
}

/** Which of the values is looked at, in this chart or in another of the page; and how that is moved. */
function useLook({ times, stepMs }: ChartProps) {
  const crosshair = useCrosshair()
  const last = times.length - 1
  const first = times[0]?.getTime() ?? 0
  const index = crosshair.at === null ? null : Math.floor((crosshair.at - first) / stepMs)
  const at = index === null || index < 0 || index > last ? null : index
  const pick = (next: number | null) =>
    crosshair.setAt(next === null ? null : (times[Math.min(last, Math.max(0, next))]?.getTime() ?? null))
  const step = (by: number) => pick(at === null ? last : at + by)
  const onKeyDown = (event: KeyEvent) => {
    const { key } = event.nativeEvent
    const move = KEYS[key]
    if (move === undefined) return
    event.preventDefault()
    // The keys of the page, such as those of a list, are not meant.
    event.stopPropagation()
    if (move === null) pick(null)
    else if (Number.isFinite(move)) step(move)
    else pick(move < 0 ? 0 : last)
  }
  // React Native's types do not have it yet.
  return { at, pick, step, keys: { onKeyDown } }
}

interface KeyEvent {
  readonly nativeEvent: { readonly key: string }
  preventDefault(): void
  stopPropagation(): void
}

/** Steps; an infinite one leads to an end, and null away from all of them. */
const KEYS: Readonly<Record<string, number | null>> = {
  ArrowLeft: -1,
  ArrowDown: -1,
  ArrowRight: 1,
  ArrowUp: 1,
  PageDown: -10,
  PageUp: 10,
  Home: Number.NEGATIVE_INFINITY,
  End: Number.POSITIVE_INFINITY,
  Escape: null,
}

const ACTIONS = [{ name: 'increment' }, { name: 'decrement' }]

function isByKey(event: unknown): boolean {
  const { target } = event as { target?: { matches?: (selector: string) => boolean } }
  return target?.matches?.(':focus-visible') ?? false
}

interface LineProps {
  readonly color: keyof Palette
  readonly isDashed?: boolean
}

function Across({ y, color, isDashed = false }: LineProps & { readonly y: number }) {
  const { colors } = useTheme()
  return (
    <Line
      x1="0"
      x2="100%"
      y1={y}
      y2={y}
      stroke={colors[color]}
      strokeWidth={1}
      {...(isDashed && { strokeDasharray: '5 4' })}
    />
  )
}

function Down({ x, color, isDashed = false }: LineProps & { readonly x: number }) {
  const { colors } = useTheme()
  return (
    <Line
      x1={x}
      x2={x}
      y1="0"
      y2="100%"
      stroke={colors[color]}
      strokeWidth={isDashed ? 1.5 : 1}
      {...(isDashed && { strokeDasharray: '2 3' })}
    />
  )
}

interface DrawnProps {
  readonly series: ChartSeries
  readonly below: readonly ChartSeries[]
  readonly bands: Bands
}

function Drawn({ series, below, bands }: DrawnProps) {
  const { colors } = useTheme()
  const { values, color, kind, isDashed } = series
  if (kind === 'bar')
    return (
      <Path
        fill={colors[color]}
        d={barsOf(
          values,
          below.map((each) => each.values),
          bands,
        )}
      />
    )
  return (
    <>
      {!isDashed && <Path d={areaOf(values, bands)} fill={colors[color]} opacity={0.1} />}
      <Path
        d={lineOf(values, bands)}
        fill="none"
        stroke={colors[color]}
        strokeWidth={1.75}
        strokeLinejoin="round"
        strokeLinecap="round"
        {...(isDashed && { strokeDasharray: '4 3' })}
      />
    </>
  )
}

/** On the lines; a bar is told by its band. */
function Dots({ series, at, bands }: { series: readonly ChartSeries[]; at: number; bands: Bands }) {
  const { colors } = useTheme()
  return series.map(({ name, values, color, kind }) => {
    const value = values[at] ?? null
    if (value === null || kind === 'bar') return null
    return (
      <Circle
        key={name}
        cx={bands.x(at)}
        cy={bands.y(value)}
        r={4}
        fill={colors[color]}
        stroke={colors.surfaceRaised}
        strokeWidth={1.5}
      />
    )
  })
}

interface ValueAxisProps {
  readonly ticks: readonly Tick[]
  readonly bands: Bands
  readonly gutter: number
}

function ValueAxis({ ticks, bands, gutter }: ValueAxisProps) {
  return ticks.map(({ value, label }) => (
    <View
      key={value}
      style={[
        styles.value,
        { width: gutter - space.s, height: TICK_HEIGHT, top: bands.y(value) - TICK_HEIGHT / 2 },
      ]}
    >
      <Text variant="overline" color="textMuted" style={styles.tick}>
        {label}
      </Text>
    </View>
  ))
}

interface TimeAxisProps {
  readonly from: Date
  readonly to: Date
  readonly xOf: (ms: number) => number
  readonly gutter: number
  readonly width: number
  readonly top: number
  readonly fontScale: number
}

/** The zone is told beside the title. */
function TimeAxis({ from, to, xOf, gutter, width, top, fontScale }: TimeAxisProps) {
  const wide = TICK_WIDTH * fontScale
  const ticks = timeTicks(from, to, Math.max(2, Math.min(6, Math.floor(width / wide))))
  return ticks.map(({ value, label }) => (
    <View key={value} style={[styles.time, { left: gutter + xOf(value) - wide / 2, top, width: wide }]}>
      <Text variant="overline" color="textMuted" style={styles.tick} numberOfLines={1}>
        {label}
      </Text>
    </View>
  ))
}

interface MarkLabelProps {
  readonly mark: ChartMark
  readonly x: number
  readonly gutter: number
  readonly width: number
}

/** Beside its line, on the side that has room. */
function MarkLabel({ mark, x, gutter, width }: MarkLabelProps) {
  const { colors } = useTheme()
  const isLeft = gutter + x > width * 0.6
  return (
    <View
      style={[
        styles.mark,
        { backgroundColor: colors.pausedSoft },
        isLeft ? { right: width - gutter - x + 3 } : { left: gutter + x + 3 },
      ]}
    >
      <Text variant="overline" color="paused" numberOfLines={1}>
        {mark.label}
      </Text>
    </View>
  )
}

/**
 * Names and newest values, or those of the moment that is looked at: it has a fixed place, so nothing jumps. As long as
 * none is, it also says how far the chart goes back: the newest step is not the whole.
 */
function Legend({
  title,
  unit,
  series,
  times,
  stepMs,
  at,
  marks,
}: Omit<ChartProps, 'marks'> & { readonly at: number | null; readonly marks: readonly ChartMark[] }) {
  const { colors } = useTheme()
  const shown = at ?? times.length - 1
  const time = times[shown]
  return (
    <View style={styles.legend}>
      <View style={styles.head}>
        <Text variant="heading" level={3}>
          {title}
        </Text>
        {time && (
          <Text variant="small" color="textMuted">
            {at === null && `${windowOf(times, stepMs)} · latest: `}
            {at !== null && stepMs < RANGE_FROM_MS && 'at '}
            {stepIn(times, shown, stepMs)}
          </Text>
        )}
      </View>
      <View style={styles.entries}>
        {series.map(({ name, values, color, kind }) => {
          const value = values[shown] ?? null
          return (
            <View key={name} style={styles.entry}>
              <View
                style={[styles.dot, kind === 'bar' && styles.square, { backgroundColor: colors[color] }]}
              />
              <Text variant="small" color="textMuted">
                {name} <Text variant="label">{value === null ? '–' : FORMATS[unit](value)}</Text>
              </Text>
            </View>
          )
        })}
        {at !== null && time && (
          <Text variant="small" color="paused">
            {marksAt(marks, time, stepMs).join(', ')}
          </Text>
        )}
      </View>
    </View>
  )
}

/** `last hour`, `last 24 h`. */
function windowOf(times: readonly Date[], stepMs: number): string {
  const ms = Math.round((times.length * stepMs) / MINUTE_MS) * MINUTE_MS
  return `last ${ms === HOUR_MS ? 'hour' : ms === DAY_MS ? '24\u00a0h' : duration(ms)}`
}

/** With its day where more than one is shown. */
function momentIn(times: readonly Date[], at: number): string {
  const [first, moment, last] = [times[0], times[at], times.at(-1)]
  if (!first || !moment || !last) return ''
  const isLong = last.getTime() - first.getTime() > DAY_MS / 2
  return isLong ? `${day(moment)}, ${timeOfDay(moment)}` : timeOfDay(moment)
}

/** A long step is a range: what happened in it did not happen when it began. */
function stepIn(times: readonly Date[], at: number, stepMs: number): string {
  const from = times[at]
  if (!from || stepMs < RANGE_FROM_MS) return momentIn(times, at)
  const begin = momentIn(times, at).replace(timeOfDay(from), clock(from))
  return `${begin}–${timeOfDay(new Date(from.getTime() + stepMs))}`
}

function marksAt(marks: readonly ChartMark[], from: Date, stepMs: number): string[] {
  const isThen = ({ at }: ChartMark) => at >= from && at.getTime() < from.getTime() + stepMs
  return marks.filter(isThen).map(({ label }) => label)
}

/** What a screen reader says of a moment: "03:12 UTC, completed 12, failed 3". */
function describeMoment(
  { unit, series, times, stepMs }: ChartProps,
  at: number | null,
  marks: readonly ChartMark[],
): string {
  const shown = at ?? times.length - 1
  const time = times[shown]
  if (!time) return 'nothing yet'
  const values = series.map(({ name, values }) => {
    const value = values[shown] ?? null
    return `${name} ${value === null ? 'unknown' : FORMATS[unit](value)}`
  })
  return [stepIn(times, shown, stepMs), ...values, ...marksAt(marks, time, stepMs)].join(', ')
}

/** For those who cannot see it: where each series ends, and how high it was. */
function describeChart({ title, unit, series, times }: ChartProps, marks: readonly ChartMark[]): string {
  const format = FORMATS[unit]
  const parts = series.map(({ name, values }) => {
    const known = values.filter((value) => value !== null)
    const last = known.at(-1)
    if (last === undefined) return `${name}: nothing yet`
    return `${name}: now ${format(last)}, highest ${format(Math.max(...known))}`
  })
  const told = marks.map(({ at, label }) => `${label} at ${momentIn([...times, at], times.length)}`)
  return `Chart of ${title}. ${[...parts, ...told].join('. ')}.`
}

/** Of stacked bars their sum; a threshold is always in sight. */
function highestOf({ series, threshold }: ChartProps): number {
  const bars = series.filter(({ kind }) => kind === 'bar')
  const stacked = (bars[0]?.values ?? []).map((_, index) =>
    bars.reduce((sum, { values }) => sum + (values[index] ?? 0), 0),
  )
  const lines = series.filter(({ kind }) => kind === 'line').flatMap(({ values }) => values)
  return Math.max(0, threshold?.value ?? 0, ...stacked, ...lines.filter((value) => value !== null))
}

const FOCUS = { outlineStyle: 'solid', outlineWidth: 2, outlineOffset: 4 } as const

const styles = StyleSheet.create({
  chart: { gap: space.s },
  plot: { borderRadius: radius.s },
  untouchable: { pointerEvents: 'none' },
  value: { position: 'absolute', left: 0, justifyContent: 'center', pointerEvents: 'none' },
  time: { position: 'absolute', alignItems: 'center', paddingTop: 4, pointerEvents: 'none' },
  tick: { fontWeight: '400', letterSpacing: 0, textAlign: 'right' },
  threshold: {
    position: 'absolute',
    paddingHorizontal: 4,
    borderRadius: radius.s,
    pointerEvents: 'none',
  },
  mark: { position: 'absolute', top: 2, paddingHorizontal: 5, borderRadius: radius.s, pointerEvents: 'none' },
  legend: { gap: 2 },
  head: {
    flexDirection: 'row',
    flexWrap: 'wrap',
    alignItems: 'baseline',
    justifyContent: 'space-between',
    columnGap: space.l,
  },
  entries: { flexDirection: 'row', flexWrap: 'wrap', alignItems: 'center', columnGap: space.l },
  entry: { flexDirection: 'row', alignItems: 'center', gap: 6 },
  dot: { width: 8, height: 8, borderRadius: radius.full },
  square: { borderRadius: 2 },
})
