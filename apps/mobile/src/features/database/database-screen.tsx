import { StyleSheet, View } from 'react-native'
import { Page } from '../../components/shell/page.tsx'
import { ReadState } from '../../components/shell/read-state.tsx'
import { EmptyState } from '../../components/ui/empty-state.tsx'
import { Icon, type IconName } from '../../components/ui/icon.tsx'
import { Row } from '../../components/ui/row.tsx'
import { Text } from '../../components/ui/text.tsx'
import { Ago } from '../../components/ui/ticking.tsx'
import { useRead } from '../../lib/api.tsx'
import { useSignedIn } from '../../lib/session.ts'
import { space } from '../../theme/tokens.ts'
import { database, type Finding } from './queries.ts'
import { byTrouble, capital, inUnitsOfApp, verdictOf } from './words.ts'

const DIALECTS = { postgres: 'Postgres', sqlite: 'SQLite' } as const

/** What oncue doctor finds out about the database, and what to do about it. */
export function DatabaseScreen() {
  const { me } = useSignedIn()
  if (me && !me.may.includes('act'))
    return (
      <Page title="Database" parent="/settings">
        <EmptyState
          icon="lock"
          title="No access"
          text={`Database checks are visible to operators and admins. Your role is ${me.role}.`}
        />
      </Page>
    )
  return <Checks />
}

function Checks() {
  const read = useRead(database)
  return (
    <Page title="Database" parent="/settings" onRefresh={() => void read.refetch()}>
      <ReadState read={read}>
        {({ dialect, checkedAt, findings }) => (
          <>
            <View style={styles.head}>
              <View role="status">
                <Text variant="title" level={2}>
                  {verdictOf(findings)}
                </Text>
              </View>
              <Text color="textMuted">
                {`${DIALECTS[dialect]} · checked `}
                <Ago from={checkedAt} />
              </Text>
            </View>
            {byTrouble(findings).map((finding) => (
              <Check key={finding.check} finding={finding} />
            ))}
          </>
        )}
      </ReadState>
    </Page>
  )
}

type Look = { readonly word: string; readonly icon: IconName; readonly color: 'good' | 'warn' | 'bad' }

const LOOKS: Readonly<Record<Finding['status'], Look>> = {
  ok: { word: 'OK', icon: 'good', color: 'good' },
  warn: { word: 'Warning', icon: 'warn', color: 'warn' },
  fail: { word: 'Problem', icon: 'bad', color: 'bad' },
}

function Check({ finding }: { readonly finding: Finding }) {
  const { check, status, advice } = finding
  const found = inUnitsOfApp(finding.found)
  const { word, icon, color } = LOOKS[status]
  return (
    <Row
      label={[capital(check), word, found, advice].filter(Boolean).join(', ')}
      leading={<Icon name={icon} color={color} />}
    >
      <View style={styles.line}>
        <Text variant="heading">{capital(check)}</Text>
        <Text variant="small" color={color}>
          {word}
        </Text>
      </View>
      <Text selectable>{found}</Text>
      {advice !== null && (
        <Text variant="small" color="textMuted" selectable>
          {advice}
        </Text>
      )}
    </Row>
  )
}

const styles = StyleSheet.create({
  head: { paddingHorizontal: space.l, paddingBottom: space.m, gap: 2 },
  line: { flexDirection: 'row', flexWrap: 'wrap', alignItems: 'baseline', gap: space.s },
})
