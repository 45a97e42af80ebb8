import { useState } from 'react'
import { Button } from '../../components/ui/button.tsx'
import { describeProblem } from '../../components/ui/describe-problem.ts'
import { Fact } from '../../components/ui/fact.tsx'
import { useToast } from '../../components/ui/toast.tsx'
import { moment } from '../../lib/format.ts'
import { useSession, useSignedIn } from '../../lib/session.ts'
import { leave } from '../notifications/push.ts'
import { Section } from './section.tsx'
import { stillListedIn } from './words.ts'

/** Kinds of caller that are named in brackets. */
const KINDS: Readonly<Record<string, string>> = { device: ' (device)', jwt: ' (JWT)', host: '' }

/** Who is signed in, and Sign out. */
export function SignedInAs() {
  const { me, server } = useSignedIn()
  const session = useSession()
  const toast = useToast()
  const [isBusy, setBusy] = useState(false)
  const signOut = async () => {
    setBusy(true)
    try {
      await leave(server)
      const { isStillListed } = await session.signOut()
      if (isStillListed) toast.show({ text: stillListedIn(server), icon: 'warn' })
    } catch (error) {
      setBusy(false)
      toast.show({ text: describeProblem(error).text, icon: 'warn' })
    }
  }
  return (
    <Section title="This device">
      <Fact name="Server" value={server.name} />
      {me && <Fact name="Signed in as" value={`${me.name || me.id}${KINDS[me.kind] ?? ''}`} />}
      {me && <Fact name="Role" value={me.role ?? 'none'} />}
      {me?.expiresAt && <Fact name="Until" value={moment(me.expiresAt)} />}
      {me?.kind !== 'host' && <Button label="Sign out" isBusy={isBusy} onPress={() => void signOut()} />}
    </Section>
  )
}
