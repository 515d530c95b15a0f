import { unreadLines } from '../../cluster/allowed.ts';
import { quarantineLines } from '../../cluster/quarantine.ts';
import { age } from '../../output/age.ts';
import { type MachineWait, waitText } from '../machine/machine-wait.ts';
import type { DeploymentExplanation } from './deployment.ts';

/** Machines that are told one by one of those that wait for the same. */
const ONE_BY_ONE = 3;

/** What machines wait for; of many that wait for the same the first to reach its deadline represents all. */
export function waitLines(waits: readonly MachineWait[], now: Date): string[] {
  // The name of each stands in the words of its own.
  const same = ({ name, phase, doing }: MachineWait): string => `${phase} ${doing.replaceAll(name, '')}`;
  const due = ({ deadline }: MachineWait): number => deadline?.at.getTime() ?? Number.POSITIVE_INFINITY;
  return [...Map.groupBy(waits, same).values()].flatMap((alike) => {
    const [first] = alike.toSorted((a, b) => due(a) - due(b));
    if (!first || alike.length <= ONE_BY_ONE) {
      return alike.map((wait) => `machine ${wait.name} (${wait.phase}${lasting(wait, now)}): ${waitText(wait, now)}`);
    }
    const phase = `${first.phase}${lasting(first, now)}`;
    return [`${alike.length} machines, first of all ${first.name} (${phase}): ${waitText(first, now)}`];
  });
}

const lasting = ({ since }: MachineWait, now: Date): string =>
  since === undefined ? '' : ` for ${age(now.getTime() - Date.parse(since))}`;

/** The explanation as lines for a person. */
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
    cures,
    unread = [],
  } = explanation;
  const list = (title: string, items: readonly string[]): string[] =>
    items.length === 0 ? [] : ['', title, ...items.map((item) => `  - ${item}`)];
  return [
    `machinedeployment ${name}`,
    `  wants  ${wanted}`,
    `  has    ${there}`,
    `  next   ${next}`,
    ...list('This step:', changes),
    ...list('Waits for:', waitLines(waitsFor, now)),
    ...list('Disruption:', disruption),
    ...list('VMs in quarantine:', quarantineLines(quarantinedVms)),
    ...list('Says of itself:', blockers),
    ...list('Flags:', remarks),
    ...list('What would help:', [...new Set(cures)]),
    ...unreadLines(unread),
  ];
}
