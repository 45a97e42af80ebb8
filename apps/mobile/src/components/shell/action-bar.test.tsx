import { fireEvent } from 'expo-router/testing-library'
import { StyleSheet } from 'react-native'
import { alertOf } from '../../testing/alerts.ts'
import { renderApp } from '../../testing/render-app.tsx'

it('toasts appear above an action bar of any height, and only on its own page', async () => {
  const alert = alertOf(1)
  const { screen, app } = await renderApp(`/alerts/${alert.id}`, {
    answers: {
      'alerts.get': () => alert,
      'alerts.rules': () => [],
      'alerts.list': () => ({ items: [], nextCursor: null }),
    },
  })
  const bottom = () =>
    StyleSheet.flatten(screen.UNSAFE_getByProps({ 'aria-live': 'polite' }).props.style).bottom
  const before = bottom()
  await screen.findByLabelText('Snooze')
  fireEvent(screen.UNSAFE_getByProps({ role: 'toolbar' }), 'layout', {
    nativeEvent: { layout: { height: 190 } },
  })
  expect(bottom()).toBe(190)
  fireEvent.press(screen.getByLabelText('Search'))
  expect(app.getPathname()).toBe('/jobs')
  expect(bottom()).toBe(before)
})
