import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { formatTime } from '../../apimachinery/objects/object-text.ts';
import { look, type Plain, strings } from '../../apimachinery/objects/plain.ts';
import { holdsRange, parseCidr, type Range } from '../../kinds/base/addresses.ts';
import { allowing } from '../client/api.ts';
import { IP_ADDRESSES, SERVICE_RANGES } from '../client/resources.ts';
import { conditionOf, isDying } from '../objects/fields.ts';
import type { Controller, ControllerContext } from '../runtime/controller.ts';
import { ALLOCATOR, MANAGED_BY } from './addresses.ts';

const FINALIZER = 'networking.k8s.io/service-cidr-finalizer';
const MANAGER = 'service-cidr-controller';
const DEFAULT_MANAGER = 'kubernetes-service-cidr-controller';
const DEFAULT_NAME = 'kubernetes';
const GRACE_MS = 10_000;

const READY = { type: 'Ready', status: 'True', reason: '', message: 'Kubernetes Service CIDR is ready' };
const DEFAULT_READY = { type: 'Ready', status: 'True', message: 'Kubernetes default Service CIDR is ready' };
const TERMINATING = {
  type: 'Ready',
  status: 'False',
  reason: 'Terminating',
  message: 'There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR',
};

const rangesOf = (object: ApiObject): Range[] =>
  strings(look(object, 'spec'), 'cidrs').flatMap((text) => parseCidr(text) ?? []);

const single = (address: string): Range | undefined => parseCidr(`${address}/${address.includes(':') ? 128 : 32}`);

const contains = (object: ApiObject, inner: Range): boolean =>
  rangesOf(object).some((outer) => holdsRange(outer, inner));

/**
 * Returns whether a client may delete a range. The other ranges must contain the whole range, or each of its addresses
 * that a Service uses.
 */
function mayGo(dying: ApiObject, ranges: readonly ApiObject[], addresses: Iterable<ApiObject>): boolean {
  const others = ranges.filter(({ metadata }) => metadata.name !== dying.metadata.name);
  if (rangesOf(dying).every((part) => others.some((other) => contains(other, part)))) return true;
  for (const { metadata } of addresses) {
    const address = metadata.labels?.[MANAGED_BY] === ALLOCATOR ? single(metadata.name ?? '') : undefined;
    if (address === undefined || !contains(dying, address)) continue;
    if (!others.some((other) => contains(other, address))) return false;
  }
  return true;
}

function setup({ api, clock, informer, queue }: ControllerContext): void {
  const ranges = informer(SERVICE_RANGES);
  const addresses = informer(IP_ADDRESSES);

  const tell = async ({ apiVersion, kind, metadata: { name } }: ApiObject, condition: Plain, manager: string) => {
    const conditions = [{ ...condition, lastTransitionTime: formatTime(clock.now()) }];
    const applied = { apiVersion, kind, metadata: { name }, status: { conditions } } as ApiObject;
    await allowing(api.apply(SERVICE_RANGES, applied, manager, 'status'), 404);
  };
  const reportOnce = async (object: ApiObject, condition: Plain): Promise<void> => {
    const known = conditionOf(object, 'Ready');
    if (['status', 'reason', 'message'].some((field) => known?.[field] !== condition[field])) {
      await tell(object, condition, MANAGER);
    }
  };

  const work = queue(async (name) => {
    const object = ranges.get(name);
    if (object === undefined) return;
    const { finalizers = [], deletionTimestamp } = object.metadata;
    if (deletionTimestamp === undefined) {
      if (!finalizers.includes(FINALIZER)) {
        await allowing(api.merge(SERVICE_RANGES, { name }, { metadata: { finalizers: [FINALIZER] } }), 404);
      }
      const isNew = name === DEFAULT_NAME && conditionOf(object, 'Ready') === undefined;
      if (isNew) await tell(object, DEFAULT_READY, DEFAULT_MANAGER);
      return reportOnce(object, READY);
    }
    if (!mayGo(object, [...ranges.all()], addresses.all())) return reportOnce(object, TERMINATING);
    const left = new Date(deletionTimestamp).getTime() + GRACE_MS - clock.now().getTime();
    if (left > 0) return work.addAfter(name, left);
    if (!finalizers.includes(FINALIZER)) return;
    const patch = { metadata: { '$deleteFromPrimitiveList/finalizers': [FINALIZER] } };
    await allowing(api.merge(SERVICE_RANGES, { name }, patch), 404);
  });

  const addDying = (): void => {
    for (const object of ranges.all()) if (isDying(object)) work.add(object.metadata.name ?? '');
  };
  ranges.onChange(({ object, type }) => {
    if (type !== 'deleted') work.add(object.metadata.name ?? '');
    if (type !== 'updated') addDying();
  });
  addresses.onChange(({ type }) => {
    if (type !== 'updated') addDying();
  });
}

/**
 * Writes into the status of each ServiceCIDR whether the range is ready, and keeps ranges whose addresses are in use.
 * @see kubernetes pkg/controller/servicecidrs
 */
export const serviceRanges: Controller = { name: 'service-cidr', setup };
