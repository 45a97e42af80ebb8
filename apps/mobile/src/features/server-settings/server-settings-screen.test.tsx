import type { Outputs } from '@oncue/sdk'
import { fireEvent, waitFor, within } from 'expo-router/testing-library'
import { minutesAgo } from '../../testing/alerts.ts'
import { healthOf } from '../../testing/health.ts'
import { renderApp } from '../../testing/render-app.tsx'

const UNTOUCHED = { from: 'default', updated: null, updatedBy: null } as const
const SETTINGS: Outputs['settings']['get'] = {
  values: {
    operatorsEditPayloads: false,
    ...{ httpEnabled: true, enqueueRule: 'producer', manageRule: 'viewer', payloadValidation: 'reject' },
    ...{ allowedTopics: null, allowedQueues: null, maskedKeys: ['password'], deviceIdleDays: 30 },
  },
  sources: {
    ...{
      httpEnabled: UNTOUCHED,
      enqueueRule: UNTOUCHED,
      manageRule: UNTOUCHED,
      operatorsEditPayloads: UNTOUCHED,
      payloadValidation: UNTOUCHED,
    },
    ...{ allowedTopics: UNTOUCHED, allowedQueues: UNTOUCHED, maskedKeys: UNTOUCHED },
    deviceIdleDays: { from: 'runtime', updated: minutesAgo(4), updatedBy: 'ada' },
  },
}

describe('Server settings', () => {
  it('say where each comes from, and send only what was changed', async () => {
    const sent: unknown[] = []
    const { screen } = await renderApp('/server-settings', {
      answers: {
        'settings.get': () => SETTINGS,
        'settings.set': (input) => {
          sent.push(input)
          return SETTINGS
        },
      },
    })
    expect(await screen.findByText(/^Changed by ada, /)).toBeVisible()
    expect(screen.queryByText('Default.')).toBeNull()
    const mayRead = within(screen.getByLabelText(/^Who may read/))
    expect(mayRead.getByLabelText('Viewers, operators and admins')).toHaveProp('aria-pressed', true)
    expect(mayRead.getAllByRole('button')).toHaveLength(5)
    fireEvent.press(screen.getByLabelText('Save'))
    expect(await screen.findByText('Nothing was changed.')).toBeVisible()
    fireEvent.changeText(screen.getByLabelText(/^Days without use/), '0')
    expect(await screen.findByText(/^A whole number from 1/)).toBeVisible()
    fireEvent.changeText(screen.getByLabelText(/^Days without use/), '30')
    fireEvent.press(screen.getByLabelText('Warn'))
    fireEvent.press(screen.getByLabelText('Save'))
    expect(await screen.findByText('Settings saved')).toBeVisible()
    fireEvent.press(screen.getByLabelText('Reset deviceIdleDays'))
    await waitFor(() => expect(sent).toEqual([{ payloadValidation: 'warn' }, { reset: ['deviceIdleDays'] }]))
  })

  it('have to be held in production', async () => {
    const { screen } = await renderApp('/server-settings', {
      answers: {
        'settings.get': () => SETTINGS,
        'health.get': () => healthOf({ environment: 'production' }),
      },
    })
    expect(await screen.findByLabelText('Hold to save the settings')).toBeVisible()
  })

  it('are for admins, and say so', async () => {
    const { screen } = await renderApp('/server-settings', { role: 'operator' })
    expect(await screen.findByText(/^Server settings are visible to admins/)).toBeVisible()
  })
})
