import type { ScriptRule, SeenRequest } from '@mcm/cloud-emulators';
import { isThrottle, Refusal } from '@mcm/provider-aws';
import type { Told } from '../caller.ts';
import type { RecordedCase, RecordedStep } from '../recording.ts';
import { differenceOf, savesReads } from './compare.ts';

export interface Compared {
  readonly recorded: RecordedCase;
  readonly step: RecordedStep;
  readonly told: Told;
  readonly seen: readonly SeenRequest[];
}

const scriptOf = ({ recorded }: Compared): readonly ScriptRule[] =>
  (recorded.cloud as { script?: ScriptRule[] } | undefined)?.script ?? [];

interface RecordedInterface {
  readonly sourceDestCheck?: boolean | null;
  readonly deviceIndex?: number | null;
  readonly ipv6Prefixes?: readonly string[] | null;
}
interface WantedInterface {
  readonly deviceIndex?: number;
  readonly networkCardIndex?: number;
  readonly ipv6PrefixCount?: number;
}

/** What was there before the call. */
const instancesOf = ({ recorded }: Compared) =>
  (
    recorded.cloud as {
      instances?: { state?: string; sourceDestCheck?: boolean; networkInterfaces?: RecordedInterface[] }[];
    }
  )?.instances ?? [];

const wantedInterfaces = ({ recorded }: Compared): readonly WantedInterface[] =>
  (recorded.providerSpec as { networkInterfaces?: WantedInterface[] } | undefined)?.networkInterfaces ?? [];

/** The machine codes that a launch's capacity and quota errors get, asked of the original's own answers. */
const CAPACITY =
  /^(Insufficient(Address|Instance|Volume)?Capacity|(Instance|Vcpu|Volume|MaxIOPS|Route)LimitExceeded|Unsupported)$/;

/** The first three are the VM's, its volumes' and its interfaces'. */
const SPOT_TAGS = 'TagSpecification.4.ResourceType';
const withoutSpotTags = (request: SeenRequest): SeenRequest => ({
  ...request,
  params: Object.fromEntries(Object.entries(request.params).filter(([key]) => !key.startsWith('TagSpecification.4.'))),
});

/** Ways in which a call is meant to differ, by what was asked and answered; each is a row of docs/compatibility.md. */
export const DIFFERENCES: Readonly<Record<string, (compared: Compared) => boolean>> = {
  'a throttled call is Unavailable': (compared) =>
    compared.told.error?.code === 'Unavailable' &&
    scriptOf(compared).some(
      ({ action, error }) =>
        error && isThrottle(new Refusal(action, { code: error.code, message: '', status: error.http })),
    ),
  'a throttled call is tried more often, and counts once': (compared) =>
    compared.told.error === undefined &&
    compared.step.result.errorCode === null &&
    scriptOf(compared).some(({ times = 0, error }) => error && times > 2),
  'an answer that is none of EC2 is Internal': (compared) =>
    compared.told.error?.code === 'Internal' && scriptOf(compared).some(({ raw }) => raw?.http === 200),
  'a call that its caller ends is Canceled': (compared) =>
    compared.told.error?.code === 'Canceled' &&
    (compared.recorded.callerCancelled === true || scriptOf(compared).some((rule) => rule.cancelCaller === true)),
  'a call that outlives its deadline is DeadlineExceeded': ({ told, recorded }) =>
    told.error?.code === 'DeadlineExceeded' && recorded.callerDeadlineMs !== undefined,
  'a lack of capacity is not asked about again within the call': (compared) =>
    compared.told.error?.code === 'ResourceExhausted' &&
    scriptOf(compared).some(({ error, times }) => times !== undefined && CAPACITY.test(error?.code ?? '')),
  'a client token that was used for something else gives way to the next': ({ told, step }) =>
    told.error?.code === step.result.errorCode && told.error?.message.includes('IdempotentParameterMismatch') === true,
  'a second interface whose check is on is switched off': (compared) =>
    compared.told.error === undefined &&
    instancesOf(compared).some(
      ({ sourceDestCheck, networkInterfaces = [] }) =>
        sourceDestCheck === false && networkInterfaces.some((each) => each.sourceDestCheck === true),
    ),
  'more IPv6 prefixes than wanted are no fault': (compared) =>
    compared.told.error === undefined &&
    instancesOf(compared).some(({ networkInterfaces = [] }) =>
      networkInterfaces.some(
        ({ deviceIndex, ipv6Prefixes }) =>
          (ipv6Prefixes?.length ?? 0) > (wantedInterfaces(compared)[deviceIndex ?? -1]?.ipv6PrefixCount ?? 1_000),
      ),
    ),
  'IPv6 prefixes are those of the interface’s own entry': (compared) =>
    compared.told.error === undefined &&
    wantedInterfaces(compared).some(({ ipv6PrefixCount }) => ipv6PrefixCount !== undefined) &&
    wantedInterfaces(compared).some(
      ({ deviceIndex, networkCardIndex }, i) => (deviceIndex ?? i) !== i || networkCardIndex !== undefined,
    ),
  'a VM that has been terminated is no VM': (compared) =>
    compared.told.error?.code === 'NotFound' && instancesOf(compared).some(({ state }) => state === 'terminated'),
  'a spot request bears the tags of its VM': ({ recorded, step, told, seen }) =>
    seen.some(({ params }) => params[SPOT_TAGS] === 'spot-instances-request') &&
    differenceOf(recorded, step, told, seen.map(withoutSpotTags)) === undefined,
  'what was read a moment ago is not read again': ({ step, told, seen }) => savesReads(step, told, seen),
  'a provider spec is read as the API server keeps it': ({ recorded: { providerSpecRaw: raw } }) =>
    raw !== undefined && withoutBlanks(raw) !== JSON.stringify(JSON.parse(raw)),
};

/** Blanks between JSON's tokens left out. */
const withoutBlanks = (json: string): string => json.replaceAll(/("(?:\\.|[^"\\])*")|\s+/g, '$1');

/** In which of the ways meant the call differs, if in one. */
export const deliberateDifference = (compared: Compared): string | undefined =>
  Object.entries(DIFFERENCES).find(([, holds]) => holds(compared))?.[0];
