import { NOW } from '../../testing/health.ts'
import { renderApp } from '../../testing/render-app.tsx'
import type { Database } from './queries.ts'

const DATABASE: Database = {
  dialect: 'postgres',
  checkedAt: NOW,
  findings: [
    { check: 'version', status: 'ok', found: 'Postgres 18.1', advice: null },
    { check: 'connections', status: 'warn', found: '91 of 100 in use', advice: 'Raise max_connections.' },
    {
      ...{ check: 'oldest transaction', status: 'fail', found: 'pid 7 has been open for 40 min' },
      advice: 'End it (pg_terminate_backend).',
    },
  ],
}

describe('Database', () => {
  it('shows what is wrong first, with what to do', async () => {
    const { screen } = await renderApp('/database', { answers: { 'database.get': () => DATABASE } })
    expect(await screen.findByText(/^1.problem, 1.warning$/)).toBeVisible()
    const checks = screen.getAllByText(/^(Version|Connections|Oldest transaction)$/)
    expect(checks.map(({ props }) => props.children)).toEqual([
      'Oldest transaction',
      'Connections',
      'Version',
    ])
    expect(screen.getByText('End it (pg_terminate_backend).')).toBeVisible()
    expect(screen.getByText('Problem')).toBeVisible()
  })

  it('is calm when nothing is wrong', async () => {
    const answers = {
      'database.get': () => ({ ...DATABASE, findings: DATABASE.findings.slice(0, 1) }),
    }
    const { screen } = await renderApp('/database', { role: 'operator', answers })
    expect(await screen.findByText(/^All 1.check passed$/)).toBeVisible()
  })

  it('is not for viewers', async () => {
    const { screen } = await renderApp('/database', { role: 'viewer' })
    expect(await screen.findByText('No access')).toBeVisible()
  })
})
