import { useState } from 'react'
import { type GestureResponderEvent, type LayoutChangeEvent, StyleSheet, View } from 'react-native'
import Svg, { Circle, Line, Path } from 'react-native-svg'
import { type Palette, radius, space } from '../../theme/tokens.ts'
import { useTheme } from '../../theme/use-theme.ts'
import { areaOf, lineOf, type Scale, scaleOf, type Values } from './chart-geometry.ts'
import { Text } from './text.tsx'

const AXIS = 20

interface ChartSeries {
  readonly name: string
  readonly values: Values
  readonly color: keyof Palette
  /** Filled down to zero. */
  readonly isArea?: boolean
  /** Told apart without colour. */
  readonly isDashed?: boolean
}

export interface ChartProps {
  readonly title: string
  readonly series: readonly ChartSeries[]
  /** The moments of the values. */
  readonly times: readonly Date[]
  readonly format: (value: number) => string
  readonly formatTime: (at: Date) => string
  readonly threshold?: { readonly value: number; readonly label: string }
  readonly height?: number
}

/** Lines over time, with axes, a threshold, and what each moment was under a finger or pointer. */
export function Chart({ title, series, times, format, formatTime, threshold, height = 180 }: ChartProps) {
  const { colors } = useTheme()
  const [width, setWidth] = useState(0)
  const [at, setAt] = useState<number | null>(null)
  const plot = height - AXIS
  const scale = scaleOf(
    series.map(({ values }) => values),
    { width, height: plot, inset: 4, ...(threshold && { threshold: threshold.value }) },
  )
  const pick = (x: number) => {
    if (width === 0 || times.length === 0) return
    setAt(Math.min(times.length - 1, Math.max(0, Math.round((x / width) * (times.length - 1)))))
  }
  const onTouch = (event: GestureResponderEvent) => pick(event.nativeEvent.locationX)
  const first = times[0]
  const last = times.at(-1)

  return (
    <View style={styles.chart}>
      <Legend {...{ title, series, format, formatTime, times, at }} />
      <View
        role="img"
        accessible
        aria-label={describeChart({ title, series, format })}
        style={{ height }}
        onLayout={({ nativeEvent }: LayoutChangeEvent) => setWidth(nativeEvent.layout.width)}
        onStartShouldSetResponder={() => true}
        onResponderGrant={onTouch}
        onResponderMove={onTouch}
        onPointerMove={({ nativeEvent }) => pick(nativeEvent.offsetX)}
        onPointerLeave={() => setAt(null)}
      >
        {width > 0 && (
          <View style={styles.untouchable}>
            <Svg width={width} height={plot}>
              {[0, 0.5, 1].map((share) => (
                <Line
                  key={share}
                  x1={0}
                  x2={width}
                  y1={scale.y(scale.max * share)}
                  y2={scale.y(scale.max * share)}
                  stroke={colors.line}
                  strokeWidth={1}
                />
              ))}
              {series.map((each) => (
                <Drawn key={each.name} series={each} scale={scale} />
              ))}
              {threshold && (
                <Line
                  x1={0}
                  x2={width}
                  y1={scale.y(threshold.value)}
                  y2={scale.y(threshold.value)}
                  stroke={colors.warn}
                  strokeWidth={1}
                  strokeDasharray="5 4"
                />
              )}
              {at !== null && (
                <Line
                  x1={scale.x(at)}
                  x2={scale.x(at)}
                  y1={0}
                  y2={plot}
                  stroke={colors.lineStrong}
                  strokeWidth={1}
                />
              )}
              {at !== null &&
                series.map(({ name, values, color }) => {
                  const value = values[at] ?? null
                  return value === null ? null : (
                    <Circle key={name} cx={scale.x(at)} cy={scale.y(value)} r={4} fill={colors[color]} />
                  )
                })}
            </Svg>
          </View>
        )}
        <Text variant="small" color="textMuted" style={styles.max}>
          {format(scale.max)}
        </Text>
        {threshold && width > 0 && (
          <Text
            variant="overline"
            color="warn"
            style={[styles.threshold, { top: scale.y(threshold.value) - 18 }]}
          >
            {threshold.label}
          </Text>
        )}
        <View style={styles.times}>
          <Text variant="small" color="textMuted">
            {first ? formatTime(first) : ''}
          </Text>
          <Text variant="small" color="textMuted">
            {last ? formatTime(last) : ''}
          </Text>
        </View>
      </View>
    </View>
  )
}

function Drawn({ series, scale }: { readonly series: ChartSeries; readonly scale: Scale }) {
  const { colors } = useTheme()
  const { values, color, isArea, isDashed } = series
  return (
    <>
      {isArea && <Path d={areaOf(values, scale)} fill={colors[color]} opacity={0.12} />}
      <Path
        d={lineOf(values, scale)}
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

/** Names and newest values, or those of the moment that is looked at: the tooltip has a fixed place. */
function Legend({
  title,
  series,
  format,
  formatTime,
  times,
  at,
}: Pick<ChartProps, 'title' | 'series' | 'format' | 'formatTime' | 'times'> & {
  readonly at: number | null
}) {
  const { colors } = useTheme()
  const moment = times[at ?? times.length - 1]
  return (
    <View style={styles.legend}>
      <Text variant="heading" level={3}>
        {title}
      </Text>
      {series.map(({ name, values, color }) => {
        const value = values[at ?? values.length - 1] ?? null
        return (
          <View key={name} style={styles.entry}>
            <View style={[styles.dot, { backgroundColor: colors[color] }]} />
            <Text variant="small" color="textMuted">
              {name} <Text variant="label">{value === null ? '–' : format(value)}</Text>
            </Text>
          </View>
        )
      })}
      {at !== null && moment && (
        <Text variant="small" color="textMuted">
          at {formatTime(moment)}
        </Text>
      )}
    </View>
  )
}

/** For those who cannot see it: where each line ends, and how high it was. */
function describeChart({ title, series, format }: Pick<ChartProps, 'title' | 'series' | 'format'>): string {
  const parts = series.map(({ name, values }) => {
    const known = values.filter((value) => value !== null)
    const last = known.at(-1)
    if (last === undefined) return `${name}: nothing yet`
    return `${name}: now ${format(last)}, highest ${format(Math.max(...known))}`
  })
  return `Chart of ${title}. ${parts.join('. ')}.`
}

const styles = StyleSheet.create({
  chart: { gap: space.s },
  untouchable: { pointerEvents: 'none' },
  max: { position: 'absolute', top: 6, left: 0, pointerEvents: 'none' },
  threshold: { position: 'absolute', right: 0, pointerEvents: 'none' },
  times: {
    position: 'absolute',
    left: 0,
    right: 0,
    bottom: 0,
    flexDirection: 'row',
    justifyContent: 'space-between',
    pointerEvents: 'none',
  },
  legend: {
    flexDirection: 'row',
    flexWrap: 'wrap',
    alignItems: 'center',
    columnGap: space.l,
    rowGap: space.xs,
  },
  entry: { flexDirection: 'row', alignItems: 'center', gap: 6 },
  dot: { width: 8, height: 8, borderRadius: radius.full },
})
