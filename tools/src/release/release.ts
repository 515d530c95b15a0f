import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join, relative, resolve, sep } from 'node:path';

export const RELEASE_FILES = {
  sums: 'SHA256SUMS',
  signature: 'SHA256SUMS.sig',
  provenance: 'provenance.intoto.json',
} as const;

const OWN: ReadonlySet<string> = new Set(Object.values(RELEASE_FILES));
const PAYLOAD_TYPE = 'application/vnd.in-toto+json';
const STATEMENT_TYPE = 'https://in-toto.io/Statement/v1';
const PREDICATE_TYPE = 'https://slsa.dev/provenance/v1';

export interface ReleaseSources {
  readonly repository: string;
  readonly commit: string;
  readonly lockFile: Buffer;
  readonly builder: string;
}

interface Subject {
  readonly name: string;
  readonly digest: { readonly sha256: string };
}

interface Statement {
  readonly _type: string;
  readonly predicateType: string;
  readonly subject: readonly Subject[];
  readonly predicate: object;
}

interface Envelope {
  readonly payloadType: string;
  readonly payload: string;
  readonly signatures: readonly { readonly sig: string }[];
}

const sha256 = (content: Buffer): string => createHash('sha256').update(content).digest('hex');

/** Returns the bytes that a signature of a DSSE envelope covers. */
const toSign = (type: string, payload: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`DSSEv1 ${type.length} ${type} ${payload.length} `), payload]);

async function checksums(folder: string): Promise<ReadonlyMap<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .filter((path) => !OWN.has(path))
    .toSorted();
  const all = paths.map(async (path) => [path, sha256(await readFile(join(folder, path)))] as const);
  return new Map(await Promise.all(all));
}

function p256(key: KeyObject, file: string): KeyObject {
  if (key.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === 'prime256v1') return key;
  throw new Error(
    `${file} must be an ECDSA key with the curve P-256. Create one: openssl ecparam -name prime256v1 -genkey -noout`,
  );
}

/**
 * Signs all files of a folder: writes their checksums, the signature of the checksums, and a signed provenance.
 *
 * @param keyFile A private key as PEM, for ECDSA with the curve P-256.
 * @returns the number of files.
 * @throws Error if the folder has no files, or if the key cannot be used.
 */
export async function signRelease(folder: string, keyFile: string, sources: ReleaseSources): Promise<number> {
  const key = p256(createPrivateKey(await readFile(keyFile)), keyFile);
  const sums = await checksums(folder);
  if (sums.size === 0) throw new Error(`${folder} has no files to sign`);
  const text = Buffer.from([...sums].map(([path, sum]) => `${sum}  ${path}\n`).join(''));
  const payload = Buffer.from(JSON.stringify(statementOf(sums, sources)));
  const envelope: Envelope = {
    payloadType: PAYLOAD_TYPE,
    payload: payload.toString('base64'),
    signatures: [{ sig: sign('sha256', toSign(PAYLOAD_TYPE, payload), key).toString('base64') }],
  };
  await writeFile(join(folder, RELEASE_FILES.sums), text);
  await writeFile(join(folder, RELEASE_FILES.signature), sign('sha256', text, key));
  await writeFile(join(folder, RELEASE_FILES.provenance), `${JSON.stringify(envelope)}\n`);
  return sums.size;
}

function statementOf(sums: ReadonlyMap<string, string>, sources: ReleaseSources): Statement {
  const { repository, commit, lockFile, builder } = sources;
  return {
    _type: STATEMENT_TYPE,
    subject: [...sums].map(([name, digest]) => ({ name, digest: { sha256: digest } })),
    predicateType: PREDICATE_TYPE,
    predicate: {
      buildDefinition: {
        buildType: `${repository}/blob/${commit}/docs/releases.md`,
        externalParameters: { repository, commit },
        resolvedDependencies: [
          { uri: `git+${repository}@${commit}`, digest: { gitCommit: commit } },
          { uri: 'pnpm-lock.yaml', digest: { sha256: sha256(lockFile) } },
        ],
      },
      runDetails: { builder: { id: builder } },
    },
  };
}

/**
 * Verifies a signed folder.
 *
 * @param keyFile The public key as PEM.
 * @returns a sentence for each wrong, missing or additional file and signature. The list is empty if everything is
 *   correct.
 * @throws Error if the folder or the key cannot be read.
 */
export async function verifyRelease(folder: string, keyFile: string): Promise<readonly string[]> {
  const key = p256(createPublicKey(await readFile(keyFile)), keyFile);
  await stat(resolve(folder));
  const text = await readFile(join(folder, RELEASE_FILES.sums));
  const signature = await readFile(join(folder, RELEASE_FILES.signature));
  if (!verify('sha256', text, key, signature))
    return [`${RELEASE_FILES.signature} is not a signature of ${RELEASE_FILES.sums} by this key`];
  const signed = new Map(
    text
      .toString()
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => [line.slice(66), line.slice(0, 64)] as const),
  );
  const found = await checksums(folder);
  return [
    ...[...signed].flatMap(([path, sum]) => {
      const now = found.get(path);
      if (now === undefined) return [`${path} is missing`];
      return now === sum ? [] : [`${path} differs from the signed file: its checksum is ${now}, not ${sum}`];
    }),
    ...[...found.keys()].filter((path) => !signed.has(path)).map((path) => `${path} has no signature`),
    ...(await wrongProvenance(folder, key, signed)),
  ];
}

async function wrongProvenance(
  folder: string,
  key: KeyObject,
  signed: ReadonlyMap<string, string>,
): Promise<readonly string[]> {
  const file = RELEASE_FILES.provenance;
  const { payloadType, payload, signatures } = JSON.parse(await readFile(join(folder, file), 'utf8')) as Envelope;
  const body = Buffer.from(payload, 'base64');
  const isValid = signatures.some(({ sig }) =>
    verify('sha256', toSign(payloadType, body), key, Buffer.from(sig, 'base64')),
  );
  if (!isValid) return [`this key did not sign ${file}`];
  const { subject } = JSON.parse(body.toString()) as Statement;
  const same =
    subject.length === signed.size && subject.every(({ name, digest }) => signed.get(name) === digest.sha256);
  return same ? [] : [`${file} and ${RELEASE_FILES.sums} describe different files`];
}
