import { useState } from 'react'
import { AdminOnly } from '../../components/shell/admin-only.tsx'
import { Page } from '../../components/shell/page.tsx'
import { ReadState } from '../../components/shell/read-state.tsx'
import { Button } from '../../components/ui/button.tsx'
import { Row } from '../../components/ui/row.tsx'
import { Text } from '../../components/ui/text.tsx'
import { useLock, useRead } from '../../lib/api.tsx'
import { serverNow } from '../../lib/clock.ts'
import { ago, date } from '../../lib/format.ts'
import { NewTokenSheet } from './new-token-sheet.tsx'
import { type Token, tokenList } from './queries.ts'
import { TokenSheet } from './token-sheet.tsx'

/** Every token that is valid now: of services, and of people. */
export function TokensScreen() {
  const lock = useLock('admin')
  const [isCreating, setCreating] = useState(false)
  return (
    <Page
      title="Tokens"
      parent="/settings"
      actions={<Button label="New token" icon="plus" lock={lock} onPress={() => setCreating(true)} />}
    >
      <AdminOnly what="Tokens are">
        <Tokens />
      </AdminOnly>
      {isCreating && <NewTokenSheet onClose={() => setCreating(false)} />}
    </Page>
  )
}

function Tokens() {
  const read = useRead(tokenList)
  const [openId, setOpenId] = useState<string | null>(null)
  const opened = read.data?.find(({ id }) => id === openId)
  return (
    <>
      <ReadState
        read={read}
        isEmpty={(tokens) => tokens.length === 0}
        empty={{ icon: 'token', title: 'No tokens', text: 'Services and people sign in with tokens.' }}
      >
        {(tokens) =>
          tokens.map((token) => <TokenRow key={token.id} token={token} onPress={() => setOpenId(token.id)} />)
        }
      </ReadState>
      {opened && <TokenSheet token={opened} onClose={() => setOpenId(null)} />}
    </>
  )
}

function TokenRow({ token, onPress }: { readonly token: Token; readonly onPress: () => void }) {
  const { name, role, lastUsed, expiresAt } = token
  const used = lastUsed ? `used ${ago(lastUsed, serverNow())}` : 'never used'
  const words = [role, used, expiresAt && `expires ${date(expiresAt)}`].filter(Boolean)
  return (
    <Row label={[name, ...words].join(', ')} onPress={onPress}>
      <Text variant="heading">{name}</Text>
      <Text variant="small" color="textMuted">
        {words.join(' · ')}
      </Text>
    </Row>
  )
}
