import { useMemo } from 'react'
import { StyleSheet, View } from 'react-native'
import Svg, { Path } from 'react-native-svg'
import { encode } from 'uqr'
import { light, radius } from '../../theme/tokens.ts'

const SIZE = 232

/** Dark on white in both themes: many cameras cannot read an inverted code. */
export function QrCode({ text, label }: { readonly text: string; readonly label: string }) {
  const { path, size } = useMemo(() => draw(text), [text])
  return (
    <View style={styles.paper} role="img" aria-label={label}>
      <Svg width={SIZE} height={SIZE} viewBox={`0 0 ${size} ${size}`}>
        <Path d={path} fill={light.text} />
      </Svg>
    </View>
  )
}

/** Each run of dark squares of a row as one rectangle. */
function draw(text: string): { readonly path: string; readonly size: number } {
  const { data, size } = encode(text, { ecc: 'M', border: 2 })
  const path = data.map((row, y) => {
    const runs = row
      .map((isDark) => (isDark ? '1' : '0'))
      .join('')
      .matchAll(/1+/g)
    return [...runs].map(({ index, 0: { length } }) => `M${index} ${y}h${length}v1h-${length}z`).join('')
  })
  return { path: path.join(''), size }
}

const styles = StyleSheet.create({
  paper: {
    alignSelf: 'center',
    backgroundColor: light.surfaceRaised,
    borderRadius: radius.m,
    overflow: 'hidden',
  },
})
