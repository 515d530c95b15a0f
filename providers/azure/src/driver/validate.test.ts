import { expect, test } from 'vitest';
import { specProblems } from './validate.ts';

const GROUP = 'capacityReservationGroups';
const reported = (capacityReservationGroupID: string): string =>
  specProblems({ properties: { capacityReservation: { capacityReservationGroupID } } })
    .filter((text) => text.includes('capacityReservationGroupID'))
    .join();

test.each([
  `/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/${GROUP}/c`,
  `/providers/Microsoft.Compute/${GROUP}/c`,
  `/SUBSCRIPTIONS/s/RESOURCEGROUPS/g/PROVIDERS/M/${GROUP.toUpperCase()}/c/`,
])('%s is a capacity reservation group', (id) => {
  expect(reported(id)).toBe('');
});

test.each([
  [`/subscriptions/s/resourceGroups/g/${GROUP}/c`, `got 'resourceGroups/${GROUP}'`],
  [`/subscriptions//resourceGroups/g/providers/M/${GROUP}/c`, "got 'subscriptions/g/M/c'"],
  ['/subscriptions/s/x/y', "got 'subscriptions/x'"],
  ['/providers/Microsoft.Compute', "got 'providers'"],
  ['/subscriptions/s/resourceGroups/g', "got 'resourceGroups'"],
  ['/tenants/x', 'invalid resource ID: /tenants/x'],
  ['/', 'invalid resource ID: /'],
  ['/subscriptions/s/resourceGroups/g/x', 'invalid resource ID: '],
  ['/subscriptions/s/resourceGroups/g/providers/M', 'invalid resource ID: '],
  ['/subscriptions/s/providers/M/x', 'invalid resource ID: '],
])('the resource ID %s is refused as in the original', (id, why) => {
  expect(reported(id)).toContain(why);
});
