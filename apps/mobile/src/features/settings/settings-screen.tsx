import { useRouter } from 'expo-router'
import { StyleSheet, View } from 'react-native'
import { MORE } from '../../components/shell/destinations.ts'
import { Page } from '../../components/shell/page.tsx'
import { Button } from '../../components/ui/button.tsx'
import { Icon } from '../../components/ui/icon.tsx'
import { Row } from '../../components/ui/row.tsx'
import { Segmented } from '../../components/ui/segmented.tsx'
import { Text } from '../../components/ui/text.tsx'
import { usePreference } from '../../lib/preferences.ts'
import { useSession } from '../../lib/session.ts'
import { space } from '../../theme/tokens.ts'
import { useIsWide } from '../../theme/use-theme.ts'

const THEMES = [
  { value: 'system', label: 'As the system' },
  { value: 'light', label: 'Light' },
  { value: 'dark', label: 'Dark' },
] as const

export function SettingsScreen() {
  const router = useRouter()
  const session = useSession()
  const isWide = useIsWide()
  const [theme, setTheme] = usePreference('theme')
  return (
    <Page title="Settings" parent="/">
      {!isWide &&
        MORE.map(({ href, label, icon }) => (
          <Row
            key={href}
            label={label}
            leading={<Icon name={icon} color="textMuted" />}
            onPress={() => router.push(href)}
          >
            <Text>{label}</Text>
          </Row>
        ))}
      <View style={styles.section}>
        <Text variant="heading" level={2}>
          Appearance
        </Text>
        <Segmented label="Theme" options={THEMES} value={theme} onChange={setTheme} />
      </View>
      <View style={styles.section}>
        <Button label="Sign out" onPress={() => void session.signOut()} />
      </View>
    </Page>
  )
}

const styles = StyleSheet.create({ section: { padding: space.l, gap: space.m } })
