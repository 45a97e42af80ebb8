import { useEffect, useState } from 'react'
import { Banner } from '../../components/ui/banner.tsx'
import { Button } from '../../components/ui/button.tsx'
import { Text } from '../../components/ui/text.tsx'
import { useToast } from '../../components/ui/toast.tsx'
import { Toggle } from '../../components/ui/toggle.tsx'
import { setNotifiedBy, useNotifiedBy } from '../../lib/preferences.ts'
import { useSignedIn } from '../../lib/session.ts'
import { LABEL, sendTest, turnOff, turnOn, WHAT_IT_IS, whyBlocked } from './push.ts'

/** On, off, and a test: without one, a missing notification goes unnoticed. */
export function NotificationSettings() {
  const where = useSignedIn()
  const toast = useToast()
  const isOn = useNotifiedBy(where.server.id)
  const [busy, setBusy] = useState<'turn' | 'test' | null>(null)
  const [problem, setProblem] = useState<string | null>(null)

  useEffect(() => {
    if (isOn) whyBlocked().then(setProblem, () => {})
  }, [isOn])

  async function run(what: 'turn' | 'test', call: () => Promise<string | null>): Promise<boolean> {
    if (busy) return false
    setBusy(what)
    setProblem(null)
    const why = await call()
    setBusy(null)
    setProblem(why)
    return why === null
  }

  const turn = async (next: boolean) => {
    if (await run('turn', () => (next ? turnOn(where) : turnOff(where)))) setNotifiedBy(where.server.id, next)
  }
  const test = async () => {
    if (await run('test', () => sendTest(where)))
      toast.show({ text: 'Test notification sent', icon: 'alerts' })
  }

  return (
    <>
      <Toggle
        label={LABEL}
        help={WHAT_IT_IS}
        isOn={isOn}
        needs={busy === 'turn' ? 'One moment…' : null}
        onChange={(next) => void turn(next)}
      />
      {problem !== null && (
        <Banner tone="warn" icon="warn" text="Notifications are not arriving" detail={problem} />
      )}
      {isOn && (
        <Button label="Send a test" icon="alerts" isBusy={busy === 'test'} onPress={() => void test()} />
      )}
      <Text variant="small" color="textMuted">
        Without notifications, alerts appear only in the app.
      </Text>
    </>
  )
}
