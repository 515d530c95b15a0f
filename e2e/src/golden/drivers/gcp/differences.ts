import type { Told } from '../caller.ts';
import type { RecordedCase } from '../recording.ts';
import { scriptedRules } from '../scripted.ts';

export interface Compared {
  readonly recorded: RecordedCase;
  readonly told: Told;
}

/** All that the recording's cloud had to answer, as text. */
const answersOf = ({ recorded }: Compared) =>
  scriptedRules.parse(recorded.cloud ?? []).flatMap(({ method, replies }) =>
    replies.map(({ status = 200, body, text = '' }) => ({
      method,
      status,
      text: text || JSON.stringify(body ?? ''),
    })),
  );

/** Ways in which a call is meant to differ, by what was asked and answered; each is a row of docs/compatibility.md. */
export const DIFFERENCES: Readonly<Record<string, (compared: Compared) => boolean>> = {
  'a throttled request is Unavailable': (compared) =>
    compared.told.error?.code === 'Unavailable' &&
    answersOf(compared).some(
      ({ status, text }) => status === 429 || (status === 403 && /rate_?limit_?exceeded/i.test(text)),
    ),
  'quota refused at the insertion is ResourceExhausted': (compared) =>
    compared.told.error?.code === 'ResourceExhausted' &&
    answersOf(compared).some(({ status, text }) => status === 403 && text.includes('"quotaExceeded"')),
  'a class whose VMs nobody would find again makes none': ({ recorded, told }) =>
    recorded.method === 'CreateMachine' && told.error?.message.includes('nobody would find the VMs again') === true,
  'a VM whose operation was done at once is looked for': (compared) =>
    compared.recorded.method === 'CreateMachine' &&
    (compared.told.error?.code ?? null) === (compared.recorded.result?.errorCode ?? null) &&
    answersOf(compared).some(({ method, text }) => method === 'POST' && text.includes('"status":"DONE"')),
  'a name that is taken is looked at': (compared) =>
    compared.told.error?.code === 'Internal' &&
    answersOf(compared).some(({ method, status }) => method === 'POST' && status === 409),
  'what ends the original is an error': ({ recorded, told }) =>
    recorded.result?.panic !== undefined && told.error?.code === 'Internal',
  'a token host that is not of Google is refused': ({ recorded, told }) =>
    told.error?.message.includes('token_uri') === true && recorded.recordsToken === true,
  'a number beyond 53 bits is refused': ({ recorded, told }) =>
    told.error?.code === 'Internal' && /:\s*\d{16,}/.test(JSON.stringify(recorded.providerSpec ?? {})),
  'a method that a driver lacks is known by its absence': ({ recorded, told }) =>
    recorded.method === 'InitializeMachine' && told.error?.code === 'Unimplemented',
  'an instance without a name is not listed': (compared) =>
    compared.recorded.method === 'ListMachines' &&
    compared.told.error === undefined &&
    answersOf(compared).some(({ text }) =>
      (JSON.parse(text).items ?? []).some((each: { readonly name?: string }) => !each.name),
    ),
  'volumes are asked for one at a time': ({ recorded: { method, pvSpecs } }) =>
    method === 'GetVolumeIDs' && pvSpecs?.length === 0,
  'a provider spec is read as the API server keeps it': ({ recorded: { providerSpecRaw: raw } }) =>
    raw !== undefined && raw.replaceAll(/("(?:\\.|[^"\\])*")|\s+/g, '$1') !== JSON.stringify(JSON.parse(raw)),
};

/** In which of the ways meant the call differs, if in one. */
export const deliberateDifference = (compared: Compared): string | undefined =>
  Object.entries(DIFFERENCES).find(([, holds]) => holds(compared))?.[0];
