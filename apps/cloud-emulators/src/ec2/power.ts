import type { OperationFault } from '../faults/faults.ts';
import { instanceWithId, readsLag, STATES, settle } from './actions.ts';
import { announceStop } from './interruptions.ts';
import type { CloudInstance } from './model.ts';
import { Ec2Error, listOf, type Params } from './params.ts';
import type { Queue } from './queue.ts';
import type { Ec2State } from './state.ts';
import { type Element, elements, items } from './xml.ts';

const found = (cloud: Ec2State, params: Params): readonly CloudInstance[] =>
  listOf(params, 'InstanceId').map((id) => {
    const each = instanceWithId(cloud, id);
    settle(cloud, each);
    return each;
  });

const wrongState = ({ instanceId }: CloudInstance, action: string): Ec2Error =>
  new Ec2Error(
    'IncorrectInstanceState',
    `The instance '${instanceId ?? ''}' is not in a state from which it can be ${action}.`,
  );

function answerOf(changed: readonly { readonly each: CloudInstance; readonly before: string | null | undefined }[]) {
  const state = (name: string | null | undefined) => name && elements({ code: STATES[name] ?? 0, name });
  return [
    [
      'instancesSet',
      items(changed, ({ each, before }) =>
        elements({ instanceId: each.instanceId, currentState: state(each.state), previousState: state(before) }),
      ),
    ] satisfies Element,
  ];
}

export function stopInstances(
  cloud: Ec2State & { readonly queue: Queue },
  params: Params,
  fault: OperationFault,
): readonly Element[] {
  return answerOf(
    found(cloud, params).map((each) => {
      if (params.Hibernate === 'true' && each.hibernation !== true)
        throw new Ec2Error('UnsupportedHibernationConfiguration', 'The instance was launched without hibernation.');
      const before = each.state;
      if (before === 'stopping' || before === 'stopped') return { each, before };
      if (before !== 'running') throw wrongState(each, 'stopped');
      readsLag(cloud, each, fault);
      each.state = 'stopping';
      each.stoppedFrom = cloud.now + (fault.operationMs ?? cloud.options.shutdownMs ?? 0);
      cloud.power.halt?.(each.instanceId ?? '');
      announceStop(cloud, cloud.queue, each);
      cloud.keep(each);
      return { each, before };
    }),
  );
}

/** Starts instances. As in EC2, a start sets the launch time of an instance to the current time. */
export function startInstances(cloud: Ec2State, params: Params, fault: OperationFault): readonly Element[] {
  return answerOf(
    found(cloud, params).map((each) => {
      const before = each.state;
      if (before === 'pending' || before === 'running') return { each, before };
      if (before !== 'stopped') throw wrongState(each, 'started');
      readsLag(cloud, each, fault);
      each.state = 'pending';
      each.launchTime = new Date(cloud.now).toISOString();
      delete each.stoppedFrom;
      cloud.keep(each);
      cloud.powerOn(each, false);
      return { each, before };
    }),
  );
}
