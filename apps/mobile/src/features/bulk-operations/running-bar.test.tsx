import { fireEvent } from 'expo-router/testing-library'
import { BULK_OPERATION_ID, bulkOperationOf } from '../../testing/failures.ts'
import { healthOf } from '../../testing/health.ts'
import { renderApp } from '../../testing/render-app.tsx'

const running = bulkOperationOf({ done: 225, total: 5_000, by: { id: 't', name: 'Grace' } })

const page = (operations: (typeof running)[]) => ({
  'health.get': () => healthOf({ bulkOperations: operations }),
  'bulkOperations.list': () => ({ items: [running], nextCursor: null }),
  'bulkOperations.get': () => running,
})

describe('the bar while a bulk operation runs', () => {
  it.each(['/', '/queues', '/bulk-operations'])(
    'is on %s, for colleagues too, and opens it',
    async (path) => {
      const { app, screen } = await renderApp(path, { answers: page([running]) })
      fireEvent.press(await screen.findByLabelText('Retrying 225 of 5,000, by Grace'))
      expect(app.getPathname()).toBe(`/bulk-operations/${BULK_OPERATION_ID}`)
    },
  )

  it('stops it', async () => {
    const stopped: unknown[] = []
    const { screen } = await renderApp('/queues', {
      answers: {
        ...page([running]),
        'bulkOperations.stop': (request: unknown) => {
          stopped.push(request)
          return { ...running, status: 'stopped' as const }
        },
      },
    })
    fireEvent.press(await screen.findByLabelText('Stop'))
    expect(await screen.findByText('Stopped: retried 225')).toBeVisible()
    expect(stopped).toEqual([{ id: BULK_OPERATION_ID }])
  })

  it('is hidden when none runs', async () => {
    const { screen } = await renderApp('/bulk-operations', { answers: page([]) })
    expect(await screen.findByText('Bulk operations')).toBeVisible()
    expect(screen.queryByLabelText('Stop')).toBeNull()
  })
})
