import type { Transport, TransportRequest, TransportResponse } from '@mcm/kube';
import { defined } from '@mcm/kube';
import { ConnectionLost, Faults, type OperationFault } from '../faults/faults.ts';
import { answerAwsMetadata } from '../login/aws-metadata.ts';
import { noPower, type Power } from '../machines/power.ts';
import { answer as response } from '../server/answer.ts';
import type { Emulator, InterruptionOrder, ListedResource } from '../server/emulator.ts';
import { Kept } from '../server/kept.ts';
import {
  assignPrefixes,
  consoleOutput,
  describeImages,
  describeInstances,
  modifyInterface,
  settle,
  terminate,
} from './actions.ts';
import { interrupt } from './interruptions.ts';
import { runInstances } from './launch.ts';
import type { CloudInstance, CloudVolume, LooseInterface, ScriptRule } from './model.ts';
import { Ec2Error, listOf, type Params } from './params.ts';
import { startInstances, stopInstances } from './power.ts';
import { Queue, sqsAction, sqsRefusal } from './queue.ts';
import { readScope, type Scope } from './signature.ts';
import type { Ec2EndpointOptions, Ec2State } from './state.ts';
import { assumeRole, isOfSts, temporarySecret } from './sts.ts';
import { createTags, deleteTags } from './tags.ts';
import { answerXml, type Element, errorXml, stsErrorXml, stsXml } from './xml.ts';

/** A request that the endpoint has received. */
export interface SeenRequest {
  readonly action: string;
  readonly params: Readonly<Record<string, string>>;
  readonly scope: Scope | undefined;
}

const REMEMBERED_MS = 3_600_000;

/**
 * Emulates the parts of EC2 (Query API) and STS that the driver uses. A second launch request with the same client
 * token launches no further instance.
 */
export class Ec2Endpoint implements Emulator, Ec2State {
  readonly options: Ec2EndpointOptions;
  readonly instances: CloudInstance[];
  readonly volumes: Kept<CloudVolume>;
  readonly looseInterfaces: Kept<LooseInterface>;
  readonly faults: Faults;
  readonly power: Power;
  readonly counts = new Map<string, number>();
  readonly queue: Queue;
  readonly #kept: Kept<CloudInstance>;
  readonly seen: SeenRequest[] = [];
  readonly #met = new Map<ScriptRule, number>();
  script: readonly ScriptRule[];
  launches = 0;
  readonly #ordinals = new WeakMap<CloudInstance, number>();
  #ordinal = 0;

  constructor(options: Ec2EndpointOptions) {
    this.options = options;
    this.#kept = new Kept('ec2-instance', options.store);
    this.volumes = new Kept('ec2-volume', options.store);
    this.looseInterfaces = new Kept('ec2-interface', options.store);
    this.instances = [...structuredClone([...(options.instances ?? [])]), ...this.#kept.values()];
    this.launches = Math.max(0, ...this.#kept.keys().map(numberOf));
    this.script = options.script ?? [];
    this.power = options.power ?? noPower;
    this.queue = new Queue(options.clock);
    this.faults = new Faults(options.clock);
    this.transport = this.faults.before((request, fault) => this.#receive(request, fault), actionOf, {
      refuse: (action, { status, code, message, retryAfter }) =>
        refuse(action, `req-${this.seen.length}`, {
          http: status,
          code,
          message,
          retryAfter,
        }),
      throttle: (action, retryAfter) =>
        refuse(action, `req-${this.seen.length}`, {
          http: 503,
          code: 'RequestLimitExceeded',
          message: 'Request limit exceeded.',
          retryAfter,
        }),
    });
  }

  resources(): readonly ListedResource[] {
    for (const each of this.instances) settle(this, each);
    const living = this.instances.filter(({ state }) => state !== 'terminated');
    return [
      ...living.map(({ instanceId, tags, state }) => ({
        kind: 'instance',
        id: instanceId ?? '',
        name: tags?.Name ?? '',
        state: state ?? '',
      })),
      ...living.flatMap(({ tags, state, networkInterfaces = [] }) =>
        (state === 'shutting-down' ? [] : networkInterfaces).map(({ networkInterfaceId }) => ({
          kind: 'networkInterface',
          id: networkInterfaceId ?? '',
          name: tags?.Name ?? '',
          state: 'in-use',
        })),
      ),
      ...this.looseInterfaces.values().map(({ networkInterfaceId: id, name }) => ({
        kind: 'networkInterface',
        id,
        name,
        state: 'available',
      })),
      ...this.volumes.values().map(({ volumeId: id, name, instanceId }) => ({
        kind: 'volume',
        id,
        name,
        state: instanceId === undefined ? 'available' : 'in-use',
      })),
    ];
  }

  interrupt(name: string, order: InterruptionOrder): boolean {
    return interrupt(this, this.queue, name, order);
  }

  resume(): void {
    for (const each of this.instances) {
      if (each.state === 'pending' || each.state === 'running') this.powerOn(each, true);
    }
  }

  /** Returns the position of an instance when all instances are sorted by creation time. */
  ordinalOf(instance: CloudInstance): number {
    for (const each of this.instances) if (!this.#ordinals.has(each)) this.#ordinals.set(each, ++this.#ordinal);
    return this.#ordinals.get(instance) ?? 0;
  }

  keep(changed: CloudInstance): void {
    this.#kept.put(changed.instanceId ?? '', changed);
    const gone = this.instances.findIndex(
      ({ terminatedFrom = Number.POSITIVE_INFINITY }) => terminatedFrom + REMEMBERED_MS < this.now,
    );
    if (gone < 0) return;
    const [forgotten] = this.instances.splice(gone, 1);
    this.#kept.delete(forgotten?.instanceId ?? '');
  }

  powerOn(each: CloudInstance, resumed: boolean): void {
    const { clock } = this.options;
    const { bootMs = this.options.bootMs ?? 0 } = each;
    clock.setTimeout(
      () => {
        settle(this, each);
        if (each.state !== 'running' && each.state !== 'pending') return;
        this.power.on(
          {
            id: each.instanceId ?? '',
            hostname: each.privateDnsName ?? '',
            providerId: `aws:///${each.zone ?? ''}/${each.instanceId ?? ''}`,
            zone: each.zone ?? '',
            machineType: each.machineType ?? '',
            image: each.image ?? '',
            privateIp: each.privateIp ?? '',
            userData: each.userData ?? '',
            createdAt: each.launchTime ?? '',
          },
          resumed,
        );
      },
      resumed ? 0 : bootMs,
    );
  }

  get now(): number {
    return this.options.clock.now().getTime();
  }

  readonly transport: Transport;

  async #receive(request: TransportRequest, fault: OperationFault): Promise<TransportResponse> {
    const { keys, host, clock } = this.options;
    const own = answerAwsMetadata(request, host, clock);
    if (own) {
      this.#count(request.path);
      return own;
    }
    const sqs = sqsAction(request);
    const form = Object.fromEntries(new URLSearchParams(sqs === undefined ? request.body : ''));
    const { Action: action = sqs ?? '', ...params } = form;
    const scope = readScope(request);
    if (this.seen.length >= LOGGED) this.seen.splice(0, LOGGED / 2);
    this.seen.push({ action, params, scope });
    this.#count(action);
    if (keys && action !== 'AssumeRoleWithWebIdentity') {
      const secret = scope?.sessionToken === undefined ? keys[scope?.accessKeyId ?? ''] : temporarySecret(scope, host);
      const signed = secret !== undefined && scope?.signedWith(secret) === true;
      if (!signed)
        return sqs === undefined
          ? refuse(action, 'req-0', NOT_THEIRS)
          : sqsRefusal(403, 'InvalidClientTokenId', NOT_THEIRS.message);
    }
    if (sqs !== undefined) return this.queue.answer(sqs, request);
    return this.#answer(action, params, request, fault);
  }

  #count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }

  async #answer(
    action: string,
    params: Params,
    request: TransportRequest,
    fault: OperationFault,
  ): Promise<TransportResponse> {
    const rule = this.#ruleFor(action, params);
    const requestId = `req-${String(this.seen.length).padStart(4, '0')}`;
    if (rule?.cancelCaller) this.options.cancelCaller?.();
    if (rule?.close) throw new ConnectionLost();
    if (rule?.raw) return response(rule.raw.http, rule.raw.body, { 'content-type': rule.raw.contentType });
    if (rule?.error) return refuse(action, requestId, rule.error);
    let answer: TransportResponse;
    try {
      answer = this.#carryOut(action, params, requestId, rule, { fault, region: readScope(request)?.region ?? '' });
    } catch (thrown) {
      if (!(thrown instanceof Ec2Error)) throw thrown;
      answer = refuse(action, requestId, { http: thrown.http, code: thrown.code, message: thrown.message });
    }
    if (rule?.lose) throw new ConnectionLost();
    request.signal?.throwIfAborted();
    return answer;
  }

  #carryOut(
    action: string,
    params: Params,
    requestId: string,
    rule: ScriptRule | undefined,
    { fault, region }: { readonly fault: OperationFault; readonly region: string },
  ): TransportResponse {
    if (isOfSts(action))
      return response(
        200,
        stsXml(action, requestId, assumeRole(action, params, { webIdentity: this.options.webIdentity, now: this.now })),
        { 'content-type': 'text/xml' },
      );
    const body = ((): readonly Element[] => {
      switch (action) {
        case 'DescribeImages':
          return describeImages(this, params, rule);
        case 'DescribeInstances':
          return describeInstances(this, params, rule);
        case 'GetConsoleOutput':
          return consoleOutput(this, params);
        case 'RunInstances':
          return runInstances(this, params, region, fault);
        case 'TerminateInstances':
          return terminate(this, params, fault);
        case 'StopInstances':
          return stopInstances(this, params, fault);
        case 'StartInstances':
          return startInstances(this, params, fault);
        case 'CreateTags':
          return createTags(this, params, fault);
        case 'DeleteTags':
          return deleteTags(this, params, fault);
        case 'ModifyNetworkInterfaceAttribute':
          return modifyInterface(this, params, fault);
        case 'AssignIpv6Addresses':
          return assignPrefixes(this, params, fault);
        default:
          throw new Ec2Error('InvalidAction', `The action ${action} is not valid for this web service.`);
      }
    })();
    return response(200, answerXml(action, requestId, body), XML);
  }

  #ruleFor(action: string, params: Params): ScriptRule | undefined {
    for (const rule of this.script) {
      const by = listOf(params, 'InstanceId').length > 0 ? 'id' : 'tags';
      if (rule.action !== action || (rule.by !== undefined && rule.by !== by)) continue;
      const met = this.#met.get(rule) ?? 0;
      const [from, times] = [rule.after ?? 0, rule.times ?? Number.POSITIVE_INFINITY];
      if (met >= from + times) continue;
      this.#met.set(rule, met + 1);
      if (met >= from) return rule;
    }
    return undefined;
  }
}

/**
 * Returns the number in the ID of an instance. A later instance has a higher number, even after a restart of the
 * emulator.
 */
const numberOf = (id: string): number => Number(/^i-0c0ffee(\d{10})$/.exec(id)?.[1] ?? 0);

const XML = { 'content-type': 'text/xml;charset=UTF-8' };
const LOGGED = 20_000;
const NOT_THEIRS = {
  http: 401,
  code: 'AuthFailure',
  message: 'AWS was not able to validate the provided access credentials',
};

const actionOf = (request: TransportRequest): string =>
  sqsAction(request) ?? new URLSearchParams(request.body ?? '').get('Action') ?? '';

function refuse(
  action: string,
  requestId: string,
  { http, code, message, retryAfter }: NonNullable<ScriptRule['error']>,
): TransportResponse {
  const body = isOfSts(action) ? stsErrorXml(requestId, code, message) : errorXml(requestId, code, message);
  return response(
    http,
    body,
    defined({ ...XML, 'retry-after': retryAfter === undefined ? undefined : String(retryAfter) }),
  );
}
