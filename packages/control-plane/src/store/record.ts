/**
 * The stored data of one object. The stored form of an object is JSON text. Reads and watches send the stored JSON text
 * unchanged. Writers parse the text, so they change only a copy. Labels and selectable fields are stored separately, so
 * that a selector needs no parsing.
 */
export interface StoredRecord {
  readonly namespace: string;
  readonly name: string;
  /** The revision of the write. The revision is the `metadata.resourceVersion` of the object. */
  readonly revision: number;
  /**
   * The JSON text of the whole object. The JSON text starts with `{"apiVersion":…,"kind":…,"metadata":{`, in this
   * order.
   */
  readonly json: string;
  readonly labels: Readonly<Record<string, string>> | undefined;
  readonly fields: Readonly<Record<string, string>> | undefined;
}
