import { askForText, TokenRefused } from '@mcm/core/driver';
import { tryParseJson } from '@mcm/kube';
import { z } from 'zod';

import type { ExternalAccount, SubjectSource } from './accounts.ts';
import { signedIdentity } from './aws-identity.ts';
import type { TokenOptions } from './token-options.ts';

/** @throws TokenRefused, TokenUnavailable, or the reason of the signal */
export async function subjectToken(
  { source, audience }: ExternalAccount,
  options: TokenOptions,
  signal: AbortSignal,
): Promise<string> {
  switch (source.from) {
    case 'file':
      return ofFile(source, options);
    case 'url':
      return ofUrl(source, options, signal);
    case 'aws':
      return signedIdentity(audience, options, signal);
    default:
      return source satisfies never;
  }
}

async function ofFile(
  { path, field }: SubjectSource & { readonly from: 'file' },
  { readFile }: TokenOptions,
): Promise<string> {
  const text = (await readFile(path))?.trim();
  if (!text) throw new TokenRefused(`the token file ${path} of the workload is unreadable or empty`);
  return tokenIn(text, field, path);
}

async function ofUrl(
  { url, headers, field }: SubjectSource & { readonly from: 'url' },
  { clock, connect }: TokenOptions,
  signal: AbortSignal,
): Promise<string> {
  const { origin } = new URL(url);
  const say = (cause: string): string =>
    `cannot get the token of the workload from ${origin}: ${cause}; check credential_source and its format`;
  return tokenIn(await askForText({ connect, url, headers, say, signal, now: clock.now() }), field, origin);
}

/** Errors do not quote the text of a token file, because it may be the token. */
function tokenIn(text: string, field: string | undefined, from: string): string {
  if (field === undefined) {
    if (/^[\w.~+/=-]+$/.test(text)) return text;
    throw new TokenRefused(`${from} returned no valid token of the workload; check credential_source and its format`);
  }
  const token = z.looseObject({ [field]: z.string().min(1) }).safeParse(tryParseJson(text)).data?.[field];
  if (typeof token === 'string') return token;
  throw new TokenRefused(`${from} returned no JSON with a string in ${field}; check the format of credential_source`);
}
