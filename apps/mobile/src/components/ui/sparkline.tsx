import { View } from 'react-native'
import Svg, { Circle, Line, Path } from 'react-native-svg'
import { useTheme } from '../../theme/use-theme.ts'
import { areaOf, lineOf, scaleOf } from './chart-geometry.ts'

const WIDTH = 120

export interface SparklineProps {
  readonly values: readonly (number | null)[]
  readonly height?: number
  readonly threshold?: number
  /** Bad where it is above the threshold. */
  readonly isBad?: boolean
}

/** The shape of half an hour. Decorative: the text beside it says the same. */
export function Sparkline({ values, height = 32, threshold, isBad = false }: SparklineProps) {
  const { colors } = useTheme()
  const scale = scaleOf([values], {
    width: WIDTH,
    height,
    inset: 3,
    ...(threshold !== undefined && { threshold }),
  })
  const ink = isBad ? colors.bad : colors.textMuted
  const wash = isBad ? colors.badSoft : colors.surfaceSunken
  const last = values.at(-1)
  return (
    <View style={{ height }} aria-hidden>
      <Svg width="100%" height={height} viewBox={`0 0 ${WIDTH} ${height}`} preserveAspectRatio="none">
        <Path d={areaOf(values, scale)} fill={wash} />
        {threshold !== undefined && (
          <Line
            x1={0}
            x2={WIDTH}
            y1={scale.y(threshold)}
            y2={scale.y(threshold)}
            stroke={colors.lineStrong}
            strokeWidth={1}
            strokeDasharray="3 3"
            vectorEffect="non-scaling-stroke"
          />
        )}
        <Path
          d={lineOf(values, scale)}
          fill="none"
          stroke={ink}
          strokeWidth={1.5}
          strokeLinejoin="round"
          vectorEffect="non-scaling-stroke"
        />
        {typeof last === 'number' && values.length === 1 && (
          <Circle cx={WIDTH / 2} cy={scale.y(last)} r={2} fill={ink} />
        )}
      </Svg>
    </View>
  )
}
