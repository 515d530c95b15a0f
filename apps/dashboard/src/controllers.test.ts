import { expect, test } from 'vitest';
import { controllersText } from './controllers.ts';

test.each([
  [[], 'Controllers not known', false],
  [['acts', 'acts'], 'All controllers working', false],
  [['acts', 'unknown'], '1 controller not known', false],
  [['unknown', 'behind'], '1 controller behind', true],
  [['stopped', 'behind', 'stopped'], '2 controllers not working', true],
] as const)('the fleet page describes the controllers %j as "%s"', (states, text, isBad) => {
  const rows = states.map((state) => ({ name: 'machine-controller', state }));
  expect(controllersText(rows)).toEqual({ text, isBad });
});

test('a program that is not a controller counts as a program', () => {
  const rows = [
    { name: 'machine-controller', state: 'acts' },
    { name: 'local-cloud', state: 'stopped' },
  ] as const;
  expect(controllersText(rows).text).toBe('1 program not working');
});
