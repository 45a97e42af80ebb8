import { useRouter } from 'expo-router'
import type { ReactNode } from 'react'
import { Platform, StyleSheet, View } from 'react-native'
import { ADMINISTRATION, type Destination, MORE, QUESTIONS } from '../../components/shell/destinations.ts'
import { Page } from '../../components/shell/page.tsx'
import { Badge } from '../../components/ui/badge.tsx'
import { Icon } from '../../components/ui/icon.tsx'
import { Row } from '../../components/ui/row.tsx'
import { Segmented } from '../../components/ui/segmented.tsx'
import { Text } from '../../components/ui/text.tsx'
import { Toggle } from '../../components/ui/toggle.tsx'
import { useServerNow } from '../../lib/clock.ts'
import { number, timeOfDay } from '../../lib/format.ts'
import { felt } from '../../lib/haptics.ts'
import { HOME_SERVER } from '../../lib/home-server.ts'
import { usePreference } from '../../lib/preferences.ts'
import { useHealth } from '../../lib/use-health.ts'
import { space } from '../../theme/tokens.ts'
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

const ZONES = [
  { value: 'local', label: 'Local' },
  { value: 'utc', label: 'UTC' },
] as const

/** Theme, notifications, servers and devices; on a phone also links to the remaining pages. */
export function SettingsScreen() {
  const isWide = useIsWide()
  return (
    <Page title={isWide ? 'Settings' : 'More'}>
      {!isWide && <Pages title="Pages" pages={MORE} />}
      <Section title="Appearance">
        <Appearance />
      </Section>
      <Section title="Notifications">
        <NotificationSettings />
      </Section>
      {!HOME_SERVER && <Servers />}
      <Devices />
      <Pages title="Administration" pages={ADMINISTRATION} />
      <SignedInAs />
      <About />
    </Page>
  )
}

interface PagesProps {
  readonly title: string
  readonly pages: readonly Destination[]
}

function Pages({ title, pages }: PagesProps) {
  const router = useRouter()
  const questions = useHealth().data?.questions ?? 0
  return (
    <Section title={title} isList>
      {pages.map(({ href, label, icon }) => (
        <Row
          key={href}
          label={href === QUESTIONS.href && questions > 0 ? `${label}, ${number(questions)} open` : label}
          leading={<Icon name={icon} color="textMuted" />}
          onPress={() => router.push(href)}
          trailing={
            href === QUESTIONS.href && questions > 0 && <Badge label={number(questions)} tone="accent" />
          }
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
  const [times, setTimes] = usePreference('times')
  return (
    <>
      <Choice label="Theme">
        <Segmented label="Theme" options={THEMES} value={theme} onChange={setTheme} />
      </Choice>
      <Choice label="Times" help={`Now ${timeOfDay(new Date(useServerNow()))}`}>
        <Segmented label="Times" options={ZONES} value={times} onChange={setTimes} />
      </Choice>
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

interface ChoiceProps {
  readonly label: string
  readonly help?: string
  readonly children: ReactNode
}

function Choice({ label, help, children }: ChoiceProps) {
  return (
    <View style={styles.choice}>
      <View style={styles.words}>
        <Text>{label}</Text>
        {help !== undefined && (
          <Text variant="small" color="textMuted">
            {help}
          </Text>
        )}
      </View>
      {children}
    </View>
  )
}

const styles = StyleSheet.create({
  choice: {
    flexDirection: 'row',
    flexWrap: 'wrap',
    alignItems: 'center',
    justifyContent: 'space-between',
    gap: space.s,
  },
  words: { flexShrink: 1 },
})
