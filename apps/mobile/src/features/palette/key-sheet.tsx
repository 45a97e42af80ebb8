import { StyleSheet, View } from 'react-native'
import { Sheet } from '../../components/ui/sheet.tsx'
import { Text } from '../../components/ui/text.tsx'
import { radius, space } from '../../theme/tokens.ts'
import { useTheme } from '../../theme/use-theme.ts'
import { KEYS } from './commands.ts'

/** Every key there is. */
export function KeySheet({ onClose }: { readonly onClose: () => void }) {
  const { colors } = useTheme()
  return (
    <Sheet isOpen title="Keys" onClose={onClose}>
      {KEYS.map(({ title, keys }) => (
        <View key={title} style={styles.group}>
          <Text variant="heading" level={3}>
            {title}
          </Text>
          {keys.map(([key, does]) => (
            <View key={key} style={styles.line}>
              <Text style={styles.words}>{does}</Text>
              <View style={[styles.key, { backgroundColor: colors.surfaceSunken }]}>
                <Text variant="code">{key}</Text>
              </View>
            </View>
          ))}
        </View>
      ))}
    </Sheet>
  )
}

const styles = StyleSheet.create({
  group: { gap: space.xs, paddingBottom: space.m },
  line: { flexDirection: 'row', alignItems: 'center', gap: space.m, minHeight: 32 },
  words: { flex: 1 },
  key: { borderRadius: radius.s, paddingHorizontal: space.s, paddingVertical: 2 },
})
