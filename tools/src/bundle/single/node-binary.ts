/** A platform in the names that Go and krew use. */
export interface Platform {
  readonly os: string;
  readonly arch: string;
}

const GO_OS: Readonly<Record<string, string>> = { win32: 'windows' };
const GO_ARCH: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386' };

/** Converts `process.platform` and `process.arch` to the names that Go and krew use. */
export const platformOf = (os: string, arch: string): Platform => ({
  os: GO_OS[os] ?? os,
  arch: GO_ARCH[arch] ?? arch,
});

/** The platform and the version of a Node.js binary. */
export interface NodeBinary {
  readonly platform: Platform;
  readonly version: string;
}

const ELF_MACHINES: Readonly<Record<number, string>> = { 21: 'ppc64le', 62: 'amd64', 183: 'arm64' };
const PE_MACHINES: Readonly<Record<number, string>> = { 332: '386', 34404: 'amd64', 43620: 'arm64' };
const MACH_MACHINES: Readonly<Record<number, string>> = { 16777223: 'amd64', 16777228: 'arm64' };
const MACH_64 = 0xfeedfacf;
/** Each binary of the Node.js project contains the address of its release. */
const RELEASE = /\/download\/release\/(?<version>v\d+\.\d+\.\d+)\//;

/**
 * Reads the platform of a Node.js binary from its header, and its version from the address of its release.
 * @throws Error if the file is not a Node.js binary of a known platform.
 */
export function readNodeBinary(path: string, data: Buffer): NodeBinary {
  const platform = headerOf(data);
  const version = RELEASE.exec(releaseText(data))?.groups?.version;
  if (platform === undefined || version === undefined)
    throw new Error(`${path} is not a Node.js binary for Linux, macOS or Windows`);
  return { platform, version };
}

function headerOf(data: Buffer): Platform | undefined {
  if (data.length < 64) return undefined;
  if (data.toString('latin1', 0, 4) === '\x7fELF') return known('linux', ELF_MACHINES[data.readUInt16LE(18)]);
  if (data.readUInt32LE(0) === MACH_64) return known('darwin', MACH_MACHINES[data.readUInt32LE(4)]);
  const header = data.toString('latin1', 0, 2) === 'MZ' ? data.readUInt32LE(60) : data.length;
  const isPe = data.toString('latin1', header, header + 4) === 'PE\0\0';
  return isPe ? known('windows', PE_MACHINES[data.readUInt16LE(header + 4)]) : undefined;
}

const known = (os: string, arch: string | undefined): Platform | undefined =>
  arch === undefined ? undefined : { os, arch };

function releaseText(data: Buffer): string {
  const at = data.indexOf('/download/release/v');
  return at < 0 ? '' : data.toString('latin1', at, at + 64);
}
