import type { PrinterColumn } from '../../apimachinery/objects/kind.ts';
import type { ApiObject, JsonObject } from '../../apimachinery/objects/object.ts';
import { items, look, number, type Plain, text } from '../../apimachinery/objects/plain.ts';
import { AGE, ageAt, column, NAME, NONE, textAt, wide } from './column.ts';

interface Summary {
  readonly ready: string;
  readonly status: string;
  readonly restarts: string;
}

const conditionIs = (pod: ApiObject, type: string): boolean =>
  items(look(pod, 'status'), 'conditions').some((one) => one.type === type && one.status === 'True');

function endOf(terminated: Plain): string {
  const reason = text(terminated, 'reason');
  if (reason !== '') return reason;
  const signal = number(terminated, 'signal') ?? 0;
  return signal !== 0 ? `Signal:${signal}` : `ExitCode:${number(terminated, 'exitCode') ?? 0}`;
}

/** Returns the status text of an init container. */
function initProgress(status: Plain, index: number, total: number): string | undefined {
  const { terminated, waiting } = look(status, 'state') as { terminated?: Plain; waiting?: Plain };
  if (terminated !== undefined) {
    return (number(terminated, 'exitCode') ?? 0) === 0 ? undefined : `Init:${endOf(terminated)}`;
  }
  const reason = text(waiting, 'reason');
  return reason !== '' && reason !== 'PodInitializing' ? `Init:${reason}` : `Init:${index}/${total}`;
}

class Restarts {
  count = 0;
  last = '';

  add(status: Plain): void {
    this.count += number(status, 'restartCount') ?? 0;
    const finished = text(look(status, 'lastState', 'terminated'), 'finishedAt');
    if (finished > this.last) this.last = finished;
  }

  shown(now: Date): string {
    return this.count !== 0 && this.last !== '' ? `${this.count} (${ageAt(this.last, now)} ago)` : String(this.count);
  }
}

/** Returns the columns READY, STATUS and RESTARTS of a pod (`printPod`). */
export function summarize(pod: ApiObject, now: Date): Summary {
  const spec = look(pod, 'spec');
  const status = look(pod, 'status');
  const inits = items(spec, 'initContainers');
  const sidecars = new Set(
    inits.filter((one) => one.restartPolicy === 'Always').map((container) => text(container, 'name')),
  );
  let total = items(spec, 'containers').length + sidecars.size;
  let ready = 0;
  let shown = text(status, 'reason') || text(status, 'phase');
  const gated = items(status, 'conditions').some(
    ({ type, reason }) => type === 'PodScheduled' && reason === 'SchedulingGated',
  );
  if (gated) shown = 'SchedulingGated';

  let restarts = new Restarts();
  const sidecarRestarts = new Restarts();
  let initializing = false;
  for (const [index, init] of items(status, 'initContainerStatuses').entries()) {
    restarts.add(init);
    if (sidecars.has(text(init, 'name'))) {
      sidecarRestarts.add(init);
      if (init.started === true) {
        if (init.ready === true) ready++;
        continue;
      }
    }
    const progress = initProgress(init, index, inits.length);
    if (progress === undefined) continue;
    shown = progress;
    initializing = true;
    break;
  }
  if (!initializing || conditionIs(pod, 'Initialized')) {
    restarts = sidecarRestarts;
    let running = false;
    for (const container of items(status, 'containerStatuses').reverse()) {
      restarts.add(container);
      const { waiting, terminated, running: runs } = look(container, 'state') as Record<string, Plain | undefined>;
      if (text(waiting, 'reason') !== '') shown = text(waiting, 'reason');
      else if (terminated !== undefined) shown = endOf(terminated);
      else if (container.ready === true && runs !== undefined) {
        running = true;
        ready++;
      }
    }
    // A pod with running and completed containers has the status Running.
    if (shown === 'Completed' && running) shown = conditionIs(pod, 'Ready') ? 'Running' : 'NotReady';
  }
  if (pod.metadata.deletionTimestamp !== undefined) {
    const phase = text(status, 'phase');
    if (status.reason === 'NodeLost') shown = 'Unknown';
    else if (phase !== 'Succeeded' && phase !== 'Failed') shown = 'Terminating';
  }
  total = Math.max(total, 0);
  return { ready: `${ready}/${total}`, status: shown, restarts: restarts.shown(now) };
}

const ENDS: Readonly<Record<string, string>> = {
  Succeeded: 'The pod has completed successfully.',
  Failed: 'The pod failed.',
};

/** Returns the condition of a table row with a finished pod. */
export function podRowConditions(pod: ApiObject): JsonObject[] {
  const reason = textAt(pod, 'status.phase');
  const message = ENDS[reason];
  return message === undefined ? [] : [{ type: 'Completed', status: 'True', reason, message }];
}

function readinessGates(pod: ApiObject): string {
  const gates = items(look(pod, 'spec'), 'readinessGates');
  if (gates.length === 0) return NONE;
  return `${gates.filter((gate) => conditionIs(pod, text(gate, 'conditionType'))).length}/${gates.length}`;
}

export const podColumns: readonly PrinterColumn[] = [
  NAME,
  column('Ready', (pod, now) => summarize(pod, now).ready, {
    doc: 'The aggregate readiness state of this pod for accepting traffic.',
  }),
  column('Status', (pod, now) => summarize(pod, now).status, {
    doc: 'The aggregate status of the containers in this pod.',
  }),
  column('Restarts', (pod, now) => summarize(pod, now).restarts, {
    doc: 'The number of times the containers in this pod have been restarted and when the last container in this pod has restarted.',
  }),
  AGE,
  wide('IP', (pod) => text(items(look(pod, 'status'), 'podIPs')[0], 'ip') || textAt(pod, 'status.podIP', NONE), {
    doc: ['V1PodStatus', 'podIP'],
  }),
  wide('Node', (pod) => textAt(pod, 'spec.nodeName', NONE), { doc: ['V1PodSpec', 'nodeName'] }),
  wide('Nominated Node', (pod) => textAt(pod, 'status.nominatedNodeName', NONE), {
    doc: ['V1PodStatus', 'nominatedNodeName'],
  }),
  wide('Readiness Gates', readinessGates, { doc: ['V1PodSpec', 'readinessGates'] }),
];
