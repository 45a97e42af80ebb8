import { useRouter } from 'expo-router'
import { Platform } from 'react-native'
import { MORE } from '../../components/shell/destinations.ts'
import { Page } from '../../components/shell/page.tsx'
import { Icon } from '../../components/ui/icon.tsx'
import { Row } from '../../components/ui/row.tsx'
import { Segmented } from '../../components/ui/segmented.tsx'
import { Text } from '../../components/ui/text.tsx'
import { Toggle } from '../../components/ui/toggle.tsx'
import { felt } from '../../lib/haptics.ts'
import { HOME_SERVER } from '../../lib/home-server.ts'
import { usePreference } from '../../lib/preferences.ts'
import { useIsWide } from '../../theme/use-theme.ts'
import { NotificationSettings } from '../notifications/notification-settings.tsx'
import { About } from './about.tsx'
import { Devices } from './devices.tsx'
import { Section } from './section.tsx'
import { Servers } from './servers.tsx'
import { SignedInAs } from './signed-in-as.tsx'

const THEMES = [
  { value: 'system', label: 'System' },
  { value: 'light', label: 'Light' },
  { value: 'dark', label: 'Dark' },
] as const

/** How the app looks and tells, which servers and devices there are, and the rest of the pages on a phone. */
export function SettingsScreen() {
  const isWide = useIsWide()
  return (
    <Page title={isWide ? 'Settings' : 'More'}>
      {!isWide && <More />}
      <Section title="Appearance">
        <Appearance />
      </Section>
      <Section title="Notifications">
        <NotificationSettings />
      </Section>
      {!HOME_SERVER && <Servers />}
      <Devices />
      <SignedInAs />
      <About />
    </Page>
  )
}

function More() {
  const router = useRouter()
  return (
    <Section title="Pages" isList>
      {MORE.map(({ href, label, icon }) => (
        <Row
          key={href}
          label={label}
          leading={<Icon name={icon} color="textMuted" />}
          onPress={() => router.push(href)}
        >
          <Text>{label}</Text>
        </Row>
      ))}
    </Section>
  )
}

function Appearance() {
  const [theme, setTheme] = usePreference('theme')
  const [haptics, setHaptics] = usePreference('haptics')
  return (
    <>
      <Segmented label="Theme" options={THEMES} value={theme} onChange={setTheme} />
      {Platform.OS !== 'web' && (
        <Toggle
          label="Haptics"
          help="Vibrates when an action succeeds or fails."
          isOn={haptics}
          onChange={(isOn) => {
            setHaptics(isOn)
            if (isOn) felt('done')
          }}
        />
      )}
    </>
  )
}
