import Constants from 'expo-constants'
import { Platform } from 'react-native'
import { Fact } from '../../components/ui/fact.tsx'
import { Text } from '../../components/ui/text.tsx'
import { useHealth } from '../../lib/use-health.ts'
import { Section } from './section.tsx'

const DATABASES = { postgres: 'Postgres', sqlite: 'SQLite' } as const

/** Versions of the app and the server. */
export function About() {
  const { data } = useHealth()
  return (
    <Section title="About">
      <Fact name="App" value={Constants.expoConfig?.version ?? 'unknown'} />
      <Fact name="Server" value={data?.version ?? 'unknown'} />
      {data && <Fact name="Database" value={DATABASES[data.dialect]} />}
      <Text variant="small" color="textMuted">
        {Platform.OS === 'web'
          ? 'This build is tested in Chromium. This page sends data only to your server.'
          : 'This app talks to your servers, and to Expo if you turn notifications on. Its phone builds are bundled in tests; camera, keychain and push were not tried on a device.'}
      </Text>
    </Section>
  )
}
