import Svg, { Circle, Path } from 'react-native-svg'
import { useTheme } from '../../theme/use-theme.ts'

/** An open ring, and the cue on which it closes. */
export function Mark({ size = 32 }: { readonly size?: number }) {
  const { colors } = useTheme()
  return (
    <Svg width={size} height={size} viewBox="0 0 32 32" aria-hidden>
      <Path
        d="M18.6 5.3A11 11 0 1 0 26.7 13.4"
        fill="none"
        stroke={colors.text}
        strokeWidth={4}
        strokeLinecap="round"
      />
      <Circle cx={24.6} cy={7.4} r={3.6} fill={colors.accent} />
    </Svg>
  )
}
