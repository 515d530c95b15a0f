import { type CreatedInstance, type CreateRequest, isOthers, MachineError, type ObservedCall } from '@mcm/core/driver';
import { type Clock, type Random, sleep } from '@mcm/kube';
import type { Ec2, Instance } from '../ec2/client.ts';
import { Refusal } from '../ec2/refusal.ts';
import { formatProviderId } from '../spec/provider-id.ts';
import type { AwsCredentials, AwsProviderSpec } from '../spec/schemas.ts';
import { fromLaunch, isExhausted } from './errors.ts';
import { findById, findByTags, tagsOf } from './lookup.ts';
import { runInstancesInput } from './run-instances.ts';

export interface CreateOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly visibilityBudgetMs: number;
}

type Create = CreateRequest<AwsProviderSpec, AwsCredentials>;

const FIRST_MS = 500;
const FACTOR = 1.5;
const LONGEST_MS = 60_000;

/** The maximum number of client tokens for one creation. The first tokens may belong to VMs that no longer exist. */
const TOKENS = 5;

const DEAD = new Set(['shutting-down', 'terminated']);

export async function createInstance(
  ec2: Ec2,
  request: Create,
  options: CreateOptions,
  timed: ObservedCall,
): Promise<{ readonly created: CreatedInstance; readonly seen: Instance }> {
  const { spec, signal } = request;
  const region = spec.region ?? '';
  let launched: Instance;
  try {
    const rootDevice = await rootDeviceOf(ec2, spec.ami ?? '', signal);
    launched = await launch(ec2, request, rootDevice);
  } catch (thrown) {
    throw fromLaunch(thrown, signal);
  }
  const id = launched.InstanceId ?? '';
  const providerId = formatProviderId(region, id);
  const seen = await untilVisible(ec2, request, id, options, timed);
  if (!seen)
    throw new MachineError(
      'Internal',
      `creation of VM "${providerId}" failed, timed out waiting for eventual consistency. Multiple VMs backing machine obj might spawn, they will be orphan collected`,
    );
  if (DEAD.has(seen.State?.Name ?? '')) throw endedAtOnce(providerId, seen);
  const nodeName = seen.PrivateDnsName ?? launched.PrivateDnsName ?? '';
  if (nodeName === '')
    throw new MachineError(
      'Internal',
      `VM with Provider-ID "${providerId}", for machine "${request.machine.metadata.name}" does not yet have a nodeName (instance.PrivateDnsName)`,
    );
  return { created: { providerId, nodeName }, seen };
}

/**
 * Returns the error for a VM that EC2 accepted and then terminated. Possible causes are a lack of capacity, and missing
 * access to the encryption key of a disk. The next call of `create` uses the next client token.
 */
function endedAtOnce(providerId: string, { StateReason, State }: Instance): MachineError {
  const { Code = '', Message = '' } = StateReason ?? {};
  const why = [Code, Message].filter((text) => text !== '').join(': ') || 'EC2 gave no reason';
  return new MachineError(
    // In the field `stateReason`, the error codes of EC2 have a prefix, for example
    // `Server.InsufficientInstanceCapacity`.
    isExhausted(Code.slice(Code.indexOf('.') + 1)) ? 'ResourceExhausted' : 'Internal',
    `VM "${providerId}" ended immediately after its launch and is ${State?.Name ?? ''}: ${why}`,
  );
}

async function rootDeviceOf(ec2: Ec2, ami: string, signal: AbortSignal): Promise<string | undefined> {
  const image = await ec2.image(ami, signal);
  if (!image) throw new MachineError('NotFound', `Image ${ami} not found`);
  return image.RootDeviceName;
}

/**
 * Calls RunInstances with a client token that is computed from the UID of the Machine. For a repeated token, EC2
 * returns the VM of the first request. After the termination of its VM, a client token cannot be used again.
 */
async function launch(ec2: Ec2, request: Create, rootDevice: string | undefined): Promise<Instance> {
  const { machine, spec, userData, signal } = request;
  for (let n = 0; ; n++) {
    const clientToken = n === 0 ? machine.metadata.uid : `${machine.metadata.uid}-${n}`;
    const input = runInstancesInput({ machine, spec, userData, rootDevice, clientToken });
    try {
      const { Instances = [] } = await ec2.run(input, signal);
      const instance = Instances.find(({ InstanceId: id }) => id !== undefined);
      if (!instance?.InstanceId)
        throw new MachineError(
          'Internal',
          `creation of VM failed for machine "${machine.metadata.name}" - no non-empty instanceID found in runResult`,
        );
      if (n >= TOKENS || !DEAD.has(instance.State?.Name ?? '')) return instance;
    } catch (thrown) {
      if (n >= TOKENS || !(thrown instanceof Refusal && thrown.code === 'IdempotentParameterMismatch')) throw thrown;
      const made = await findByTags(ec2, request, machine.metadata.name);
      const own = made.find(({ InstanceId, Tags = [] }) => InstanceId && !isOthers(request, tagsOf(Tags)));
      if (own) return own;
    }
  }
}

/**
 * Waits until DescribeInstances returns a new VM, which can take some time. The driver retries all errors, except a
 * cancellation by the caller.
 */
async function untilVisible(
  ec2: Ec2,
  { signal }: Create,
  id: string,
  { clock, random, visibilityBudgetMs }: CreateOptions,
  timed: ObservedCall,
): Promise<Instance | undefined> {
  const until = clock.now().getTime() + visibilityBudgetMs;
  for (let pauseMs = FIRST_MS; ; pauseMs = Math.min(pauseMs * FACTOR, LONGEST_MS)) {
    const seen = await look(ec2, id, signal, timed);
    if (seen) return seen;
    const ms = Math.ceil(pauseMs * (0.5 + random.next()));
    if (clock.now().getTime() + ms > until) return undefined;
    try {
      await sleep(clock, ms, signal);
    } catch (thrown) {
      throw fromLaunch(thrown, signal);
    }
  }
}

async function look(ec2: Ec2, id: string, signal: AbortSignal, timed: ObservedCall): Promise<Instance | undefined> {
  try {
    return await timed('instance_get_by_id', () => findById(ec2, id, signal));
  } catch (thrown) {
    if (signal.aborted) throw fromLaunch(thrown, signal);
    return undefined;
  }
}
