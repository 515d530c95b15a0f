import { unreadLines } from '../../cluster/allowed.ts';
import { quarantineLines } from '../../cluster/quarantine.ts';
import { controllerLines } from '../../controllers/health.ts';
import { age } from '../../output/age.ts';
import { type MachineWait, waitText } from '../machine/machine-wait.ts';
import { blockLines } from '../reasons/block-lines.ts';
import type { DeploymentExplanation } from './deployment.ts';

const ONE_BY_ONE = 3;

/** Returns lines about the waits of machines. */
export function waitLines(waits: readonly MachineWait[], now: Date): string[] {
  const same = ({ name, phase, doing }: MachineWait): string => `${phase} ${doing.replaceAll(name, '')}`;
  const due = ({ deadline }: MachineWait): number => deadline?.at.getTime() ?? Number.POSITIVE_INFINITY;
  return [...Map.groupBy(waits, same).values()].flatMap((alike) => {
    const [first] = alike.toSorted((a, b) => due(a) - due(b));
    if (!first || alike.length <= ONE_BY_ONE) {
      return alike.map((wait) => `machine ${wait.name} (${wait.phase}${lasting(wait, now)}): ${waitText(wait, now)}`);
    }
    const phase = `${first.phase}${lasting(first, now)}`;
    return [`${alike.length} machines, for example ${first.name} (${phase}): ${waitText(first, now)}`];
  });
}

const lasting = ({ since }: MachineWait, now: Date): string =>
  since === undefined ? '' : ` for ${age(now.getTime() - Date.parse(since))}`;

const spaced = (lines: readonly string[]): readonly string[] => (lines.length === 0 ? [] : ['', ...lines]);

export function deploymentLines(explanation: DeploymentExplanation, now: Date): string[] {
  const {
    name,
    wants: wanted,
    has: there,
    next,
    changes,
    waitsFor,
    disruption,
    remarks,
    quarantinedVms,
    blockers,
    blockedBy = [],
    controllers,
    hints,
    unread = [],
  } = explanation;
  const list = (title: string, items: readonly string[]): string[] =>
    items.length === 0 ? [] : ['', title, ...items.map((item) => `  - ${item}`)];
  return [
    `machinedeployment ${name}`,
    `  wants  ${wanted}`,
    `  has    ${there}`,
    `  next   ${next}`,
    ...spaced(controllerLines(controllers, now)),
    ...list('This step:', changes),
    ...list('Blocked by:', blockLines(blockedBy, now)),
    ...list('Waits for:', waitLines(waitsFor, now)),
    ...list('Disruption:', disruption),
    ...list('VMs in quarantine:', quarantineLines(quarantinedVms)),
    ...list('Reported problems:', blockers),
    ...list('Flags:', remarks),
    ...list('Hints:', [...new Set(hints)]),
    ...unreadLines(unread),
  ];
}
