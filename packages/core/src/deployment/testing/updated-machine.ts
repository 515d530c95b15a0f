import { Annotations, Labels, type Machine, type MachinePhase } from '@mcm/api';
import type { Node } from '@mcm/kube';
import { machine } from '../../set/test-objects.ts';

type UpdateMark = 'candidate' | 'selected' | 'successful' | 'failed';

export interface UpdateState {
  readonly marks?: readonly UpdateMark[];
  readonly template?: string | undefined;
  readonly daemonDrain?: string;
  readonly reason?: string | undefined;
  /** The reason of the condition on the Node (default: no condition). */
  readonly nodeReason?: string;
  readonly phase?: MachinePhase;
  readonly deleting?: boolean;
  readonly moved?: boolean;
}

export function nodeIn({ marks = [], template, daemonDrain, nodeReason }: UpdateState, name = 'm'): Node {
  const result = marks.find((mark) => mark === 'successful' || mark === 'failed');
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      uid: `uid-node-${name}`,
      resourceVersion: '1',
      creationTimestamp: '2026-01-01T00:00:00Z',
      labels: {
        ...(marks.includes('candidate') ? { [Labels.CandidateForUpdate]: 'true' } : {}),
        ...(marks.includes('selected') ? { [Labels.SelectedForUpdate]: 'true' } : {}),
        ...(result ? { [Labels.UpdateResult]: result } : {}),
      },
      annotations: {
        ...(template === undefined ? {} : { [Annotations.SelectedForTemplate]: template }),
        ...(daemonDrain === undefined ? {} : { [Annotations.ConfigDaemonDrain]: daemonDrain }),
      },
    },
    spec: { unschedulable: true },
    status: { conditions: nodeReason ? [{ type: 'InPlaceUpdate', status: 'True', reason: nodeReason }] : [] },
  };
}

export function machineIn({ reason, phase = 'Running', deleting, moved }: UpdateState, name = 'm'): Machine {
  const made = machine(name, {
    phase,
    ...(deleting ? { deleting } : {}),
    labels: { [Labels.Node]: name, ...(moved ? { [Labels.UpdateResult]: 'successful' } : {}) },
  });
  const conditions = reason ? [{ type: 'InPlaceUpdate', status: 'True' as const, reason }] : [];
  return { ...made, status: { ...made.status, conditions } };
}
