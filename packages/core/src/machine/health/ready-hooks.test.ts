import { Annotations, type MachinePhase } from '@mcm/api';
import { expect, test } from 'vitest';
import { mirrored } from '../../settings/conditions.ts';
import { MACHINE_DEFAULTS, settingsOf } from '../../settings/settings.ts';
import { nextStep } from '../next-step.ts';
import { at, hc, machine, NOON, node } from '../testing.ts';

function stepsOf(phase: MachinePhase, annotations: Readonly<Record<string, string>>) {
  const own = machine({
    metadata: { labels: { node: 'fakeNode-0' }, annotations: { [Annotations.Hooks]: HOOK, ...annotations } },
    spec: { providerID: 'fakeID-0' },
    status: {
      conditions: mirrored(hc('True')),
      currentStatus: { phase, lastUpdateTime: at(0) },
      lastOperation: { type: 'Create', state: 'Failed', description: 'Cloud provider message', lastUpdateTime: at(0) },
    },
  });
  const { actions } = nextStep(
    {
      machine: own,
      settings: settingsOf(own, MACHINE_DEFAULTS),
      inputs: '',
      asksForToken: false,
      hasTarget: true,
      node: node({ spec: { providerID: 'fakeID-0' } }),
      frozen: false,
      calls: {},
      driver: { initialize: false, status: false },
      replacementsInProgress: 0,
    },
    NOON,
  );
  return actions.flatMap((action) => {
    if (action.do === 'annotate') return ['begins its hook'];
    return action.do === 'writeStatus' ? [action.status.currentStatus?.phase] : [];
  });
}

const HOOK = 'after-ready check owner 1h Block';
const BEGUN = { [Annotations.HooksBegun]: `after-ready=${at(0)}` };
const PENDING = { ...BEGUN, [`after-ready.${Annotations.HookSuffix}/check`]: 'owner' };

// In the phase CrashLoopBackOff, the `create` call failed, but the VM exists.
test.each<MachinePhase>(['Pending', 'CrashLoopBackOff'])(
  'a joined machine in the phase %s becomes Running only after its after-ready hook',
  (phase) => {
    expect(stepsOf(phase, {})).toEqual(['begins its hook']);
    expect(stepsOf(phase, PENDING)).toEqual(['Pending']);
    expect(stepsOf(phase, BEGUN)).toContain('Running');
  },
);
