import type { Told } from '../caller.ts';
import type { RecordedCase, RecordedStep } from '../recording.ts';
import { type ScriptedRequest, scriptedRules } from '../scripted.ts';

export interface Compared {
  readonly recorded: RecordedCase;
  readonly told: Told;
  readonly step: RecordedStep;
  readonly seen: readonly ScriptedRequest[];
}

/** All that the recording's cloud had to answer. */
const answersOf = ({ recorded }: Compared) =>
  scriptedRules.parse(recorded.cloud ?? []).flatMap(({ method, path, replies }) =>
    replies.map(({ status = 200, body, text = '' }) => ({
      method,
      path,
      status,
      text: text || JSON.stringify(body ?? ''),
    })),
  );

/** Ways in which a call is meant to differ, by what was asked and answered; each is a row of docs/compatibility.md. */
export const DIFFERENCES: Readonly<Record<string, (compared: Compared) => boolean>> = {
  'a request that Azure throttles is Unavailable': (compared) =>
    compared.told.error?.code === 'Unavailable' && answersOf(compared).some(({ status }) => status === 429),
  'a call that outlives its time is DeadlineExceeded': ({ told, step }) =>
    told.error?.code === 'DeadlineExceeded' && /context deadline exceeded/.test(step.result.errorText ?? ''),
  'what could not be deleted is told with its reason': ({ told, step }) =>
    told.error?.code === step.result.errorCode && step.result.errorText?.includes('Err: <nil>') === true,
  'an image is told by its URN': ({ told, step }) =>
    told.error?.code === step.result.errorCode && step.result.errorText?.includes('<pointer>') === true,
  'a resource provider is registered by its user': (compared) =>
    compared.told.error?.code === 'Internal' &&
    answersOf(compared).some(({ text }) => text.includes('MissingSubscriptionRegistration')),
  'a driver without initialize makes no call of it': ({ recorded, told }) =>
    recorded.method === 'InitializeMachine' && told.error?.code === 'Unimplemented',
  'a NIC that would stay is made to go with its VM': ({ told, seen, step }) =>
    told.error?.code === (step.result.errorCode ?? undefined) &&
    seen.some(({ method, body }) => method === 'PATCH' && body.includes('networkInterfaces')),
  'a data disk alone is no machine': ({ recorded, told }) =>
    recorded.method === 'ListMachines' &&
    told.error === undefined &&
    JSON.stringify(recorded.cloud).includes('-data-disk'),
  'a quote in a name does not end a query': ({ recorded, told }) =>
    told.error === undefined && /'/.test(String((recorded.providerSpec as { resourceGroup?: unknown }).resourceGroup)),
  'a token is asked for in one request': ({ recorded, told, step, seen }) =>
    recorded.recordsToken === true &&
    (told.error?.code ?? null) === step.result.errorCode &&
    (told.error !== undefined || seen.at(-1)?.authorization === step.requests.at(-1)?.authorization),
  'what ends the original does not end ours': ({ recorded }) => recorded.result?.panic !== undefined,
};

/** In which of the ways meant the call differs, if in one. */
export const deliberateDifference = (compared: Compared): string | undefined =>
  Object.entries(DIFFERENCES).find(([, holds]) => holds(compared))?.[0];
