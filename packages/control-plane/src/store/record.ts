/**
 * Reads and watches send the stored JSON text unchanged, and writers parse it. Labels and selectable fields are stored
 * separately, so a selector needs no parsing.
 */
export interface StoredRecord {
  readonly namespace: string;
  readonly name: string;
  /** The revision is the `metadata.resourceVersion` of the object. */
  readonly revision: number;
  /** The JSON text starts with `{"apiVersion":…,"kind":…,"metadata":{`, in this order. */
  readonly json: string;
  readonly labels: Readonly<Record<string, string>> | undefined;
  readonly fields: Readonly<Record<string, string>> | undefined;
}
