export interface PackedFile {
  readonly path: string;
  readonly data: Uint8Array;
}

/**
 * Combines several files into one buffer. The buffer contains the length of an index in 4 bytes, the index as JSON, and
 * the files in the order of the index.
 */
export function packFiles(files: readonly PackedFile[]): Buffer {
  const index = Buffer.from(JSON.stringify(files.map(({ path, data }) => [path, data.length])));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(index.length);
  return Buffer.concat([length, index, ...files.map(({ data }) => data)]);
}

export function unpackFiles(packed: Buffer): readonly PackedFile[] {
  const end = 4 + packed.readUInt32BE(0);
  const index = JSON.parse(packed.subarray(4, end).toString('utf8')) as readonly (readonly [string, number])[];
  let offset = end;
  return index.map(([path, size]) => {
    const data = packed.subarray(offset, offset + size);
    offset += size;
    return { path, data };
  });
}
