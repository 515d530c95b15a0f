import { type CreatedInstance, type CreateRequest, isOthers, MachineError, type ObservedCall } from '@mcm/core/driver';
import { type Clock, type Random, sleep } from '@mcm/kube';
import type { Ec2, Instance } from '../ec2/client.ts';
import { Refusal } from '../ec2/refusal.ts';
import type { AwsCredentials, AwsProviderSpec } from '../spec/schemas.ts';
import { fromLaunch, isExhausted } from './errors.ts';
import { findById, findByTags, tagsOf } from './lookup.ts';
import { formatProviderId } from './provider-id.ts';
import { runInstancesInput } from './run-instances.ts';

/** The clock for the wait until a new VM is visible. */
export interface CreateOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly visibilityBudgetMs: number;
}

type Create = CreateRequest<AwsProviderSpec, AwsCredentials>;

/** Backoff of the wait: the original's (cenkalti/backoff with its defaults). */
const FIRST_MS = 500;
const FACTOR = 1.5;
const LONGEST_MS = 60_000;

/** Tokens that may have been used up by VMs that are gone, before a new one is taken for granted to be fresh. */
const TOKENS = 5;

const DEAD = new Set(['shutting-down', 'terminated']);

/** Makes the VM of a machine, or finds the one that an earlier call with the same Machine made. */
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

/** A launch that was taken and came to nothing: no key for its disks, no room after all. The next call takes the next token. */
function endedAtOnce(providerId: string, { StateReason, State }: Instance): MachineError {
  const { Code = '', Message = '' } = StateReason ?? {};
  const why = [Code, Message].filter((text) => text !== '').join(': ') || 'EC2 gave no reason';
  return new MachineError(
    // `Server.InsufficientInstanceCapacity`, `Client.VolumeLimitExceeded`
    isExhausted(Code.slice(Code.indexOf('.') + 1)) ? 'ResourceExhausted' : 'Internal',
    `VM "${providerId}" ended as soon as it was launched, it is ${State?.Name ?? ''}: ${why}`,
  );
}

async function rootDeviceOf(ec2: Ec2, ami: string, signal: AbortSignal): Promise<string | undefined> {
  const image = await ec2.image(ami, signal);
  if (!image) throw new MachineError('NotFound', `Image ${ami} not found`);
  return image.RootDeviceName;
}

/**
 * RunInstances with a token from the Machine's UID: for a repeated request, EC2 returns the first VM. A token is used up if its
 * VM was terminated, or if the class changed and its VM no longer exists. Then the next token is used.
 */
async function launch(ec2: Ec2, request: Create, rootDevice: string | undefined): Promise<Instance> {
  const { machine, spec, userData, signal } = request;
  for (let n = 0; ; n++) {
    const clientToken = n === 0 ? machine.metadata.uid : `${machine.metadata.uid}-${n}`;
    const input = runInstancesInput({ machine, spec, userData, rootDevice, clientToken });
    try {
      const { Instances = [] } = await ec2.run(input, signal);
      const instance = Instances.find(({ InstanceId: id }) => id !== undefined && id !== '');
      if (!instance)
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
 * Reads are delayed after writes: the VM is read until it appears. All errors are retried, except a cancellation by the caller.
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
