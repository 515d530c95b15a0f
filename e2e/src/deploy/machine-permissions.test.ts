import { DEFAULT_INSTALL, installSections } from '@mcm/cli';
import type { Transport } from '@mcm/kube';
import { expect, test } from 'vitest';
import { playMachines } from '../simulation/machines/machine-history.ts';
import { FAULT_HEADER } from '../simulation/network/network.ts';
import type { Plan } from '../simulation/script/script.ts';
import { asInstalled, makeRoles } from '../simulation/world/installed-roles.ts';
import { allowedBy, neededPermissions, type RoleObject } from './needed-permissions.ts';

/**
 * Runs the machine controller with the ServiceAccount and the roles of the installation. The histories contain pods,
 * budgets, volumes, faults and kills.
 */

const EVIDENCE = 'what is kept of a machine that failed is asked of a VM whose driver tells its console';
const ELECTION = 'at the start of the binary, as e2e/src/hand-over does';
const REQUESTS = 'only an API server with the alpha API is asked, as in packages/core/src/run/permissions.test.ts';
const JUSTIFIED: Readonly<Record<string, string>> = {
  '* lifecycle.k8s.io/evictionrequests create': REQUESTS,
  '* lifecycle.k8s.io/evictionrequests delete': REQUESTS,
  '* lifecycle.k8s.io/evictionrequests list': REQUESTS,
  '* lifecycle.k8s.io/evictions list': REQUESTS,
  'default /configmaps create': EVIDENCE,
  'default /configmaps delete': EVIDENCE,
  'default /configmaps get': EVIDENCE,
  'default /configmaps patch': 'only with --drain-volume-limit, as in packages/core/src/run/volume-pace.test.ts',
  'default /events patch': 'an event that comes again is counted in the one that is there',
  'default /namespaces get': 'its UID marks the VMs: at the start of the binary, as e2e/src/up.test.ts does',
  'default coordination.k8s.io/leases create': ELECTION,
  'default coordination.k8s.io/leases get': ELECTION,
  'default coordination.k8s.io/leases update': ELECTION,
  'default coordination.k8s.io/leases watch': ELECTION,
  'kube-system /secrets patch': 'a token lives longer when the time to join was made longer meanwhile',
  'kube-system coordination.k8s.io/leases create': ELECTION,
  'kube-system coordination.k8s.io/leases get': ELECTION,
  'kube-system coordination.k8s.io/leases update': ELECTION,
};

/** The controller is killed after it has created a bootstrap token, and the next process reads the token. */
const KILLED_AFTER_TOKEN: Plan = {
  steps: [
    { act: 'create', pauseMs: 20_000, drawn: 3 },
    { act: 'kill', pauseMs: 1_000, drawn: 3 },
  ],
  lastPauseMs: 0,
  drawn: 4,
};

const isRole = (object: object): object is RoleObject => 'rules' in object;
const allowed = allowedBy(
  installSections(DEFAULT_INSTALL)
    .flatMap(({ objects }) => objects)
    .filter(isRole)
    .filter(({ metadata: { name } }) => /^machine-controller($|-nodes|-tokens|-node-events)/.test(name)),
);

test('with the roles of the machine controller, no request is refused, and each permission is used or justified', async () => {
  const used = new Set<string>();
  const refused = new Set<string>();
  const withRoles = (transport: Transport): Transport =>
    asInstalled(async (request) => {
      const answer = await transport(request);
      const what = neededPermissions(request.method, request.path);
      if (answer.status === 403 && answer.headers.get(FAULT_HEADER) === null)
        refused.add(`${request.method} ${request.path}`);
      const hit = what.find((each) => allowed.has(each));
      if (hit === undefined && what.length > 0) refused.add(`no role has ${what[0]}`);
      if (hit !== undefined) used.add(hit);
      return answer;
    });
  const cases = [...[1, 2, 3, 4, 5, 8].map((seed) => ({ seed })), { seed: 6, plan: KILLED_AFTER_TOKEN }];
  for (const one of cases) {
    const { violations, story } = await playMachines({ ...one, defect: { kube: withRoles, furnish: makeRoles } });
    expect(violations, story).toEqual([]);
  }
  expect([...refused]).toEqual([]);
  expect([...allowed].filter((each) => !used.has(each)).toSorted()).toEqual(Object.keys(JUSTIFIED).toSorted());
});
